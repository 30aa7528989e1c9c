// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// hip/hip_fp16.h and hip/hip_bf16.h if there is no ROCm: the 16-bit floats, on those of clang.
#pragma once
#include <hip/hip_runtime.h>

struct swizzle_bf16 {  // the upper half of a float, rounded to nearest, ties to even
  unsigned short bits;
  swizzle_bf16() = default;
  __host__ __device__ explicit swizzle_bf16(float value) {
    const unsigned whole = __builtin_bit_cast(unsigned, value);
    const bool number = value == value;
    bits = static_cast<unsigned short>(number ? (whole + 0x7fff + (whole >> 16 & 1)) >> 16
                                              : whole >> 16 | 64);
  }
  __host__ __device__ explicit operator float() const {
    return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16);
  }
};

// clang-format off
#define SWIZZLE_OPERATION(name, op, function)                                                      \
  __host__ __device__ inline name operator op(name a, name b) { return float(a) op float(b); }     \
  __host__ __device__ inline name& operator op##=(name& a, name b) { return a = a op b; }          \
  __host__ __device__ inline name function(name a, name b) { return a op b; }                      \
  __host__ __device__ inline name##2 operator op(name##2 a, name##2 b) {                           \
    return {a.x op b.x, a.y op b.y};                                                               \
  }                                                                                                \
  __host__ __device__ inline name##2 function##2(name##2 a, name##2 b) { return a op b; }

#define SWIZZLE_COMPARISON(name, op, is)                                                           \
  __host__ __device__ inline bool __h##is(name a, name b) { return float(a) op float(b); }         \
  __host__ __device__ inline bool __hb##is##2(name##2 a, name##2 b) {                              \
    return __h##is(a.x, b.x) && __h##is(a.y, b.y);                                                 \
  }

#define SWIZZLE_FLOAT(name, native)                                                                \
  struct name {                                                                                    \
    native value;                                                                                  \
    name() = default;                                                                              \
    template <typename T, typename = decltype(static_cast<float>(T()))>                            \
    __host__ __device__ name(T from) : value(static_cast<native>(static_cast<float>(from))) {}     \
    __host__ __device__ operator float() const { return static_cast<float>(value); }               \
  };                                                                                               \
  struct name##2 {                                                                                 \
    name x, y;                                                                                     \
    name##2() = default;                                                                           \
    __host__ __device__ name##2(name a, name b) : x(a), y(b) {}                                    \
    template <typename T, typename = decltype(name(T()))>                                          \
    __host__ __device__ explicit name##2(T a) : x(a), y(a) {}                                      \
  };                                                                                               \
  SWIZZLE_OPERATION(name, +, __hadd) SWIZZLE_OPERATION(name, -, __hsub)                            \
  SWIZZLE_OPERATION(name, *, __hmul) SWIZZLE_OPERATION(name, /, __hdiv)                            \
  SWIZZLE_COMPARISON(name, ==, eq) SWIZZLE_COMPARISON(name, !=, ne)                                \
  SWIZZLE_COMPARISON(name, <, lt) SWIZZLE_COMPARISON(name, <=, le)                                 \
  SWIZZLE_COMPARISON(name, >, gt) SWIZZLE_COMPARISON(name, >=, ge)                                 \
  __host__ __device__ inline name operator-(name a) { return -float(a); }                          \
  __host__ __device__ inline name __hfma(name a, name b, name c) {                                 \
    return __builtin_fmaf(float(a), float(b), float(c));                                           \
  }                                                                                                \
  __host__ __device__ inline name##2 __hfma2(name##2 a, name##2 b, name##2 c) {                    \
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                         \
  }

// clang-format on
SWIZZLE_FLOAT(__half, _Float16)
SWIZZLE_FLOAT(__hip_bfloat16, swizzle_bf16)
typedef __half half;
typedef __half2 half2;
typedef __hip_bfloat16 hip_bfloat16;
typedef __hip_bfloat162 hip_bfloat162;

__host__ __device__ inline __half __float2half(float a) { return a; }
__host__ __device__ inline __half __float2half_rn(float a) { return a; }
__host__ __device__ inline float __half2float(__half a) { return a; }
__host__ __device__ inline __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
__host__ __device__ inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
__host__ __device__ inline __half2 __float2half2_rn(float a) { return {a, a}; }
__host__ __device__ inline __half2 __half2half2(__half a) { return {a, a}; }
__host__ __device__ inline __half __low2half(__half2 a) { return a.x; }
__host__ __device__ inline __half __high2half(__half2 a) { return a.y; }
__host__ __device__ inline float2 __half22float2(__half2 a) { return {float(a.x), float(a.y)}; }
__host__ __device__ inline __hip_bfloat16 __float2bfloat16(float a) { return a; }
__host__ __device__ inline float __bfloat162float(__hip_bfloat16 a) { return a; }
