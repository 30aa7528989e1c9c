// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// hip/hip_fp16.h and hip/hip_bf16.h where there is no ROCm: the 16-bit floats, on those of clang.
#pragma once
#include <hip/hip_runtime.h>

struct swizzle_bf16 {  // the upper half of a float, rounded to nearest, ties to even
  unsigned short bits;
  __host__ __device__ static swizzle_bf16 from(float value) {
    const unsigned whole = __builtin_bit_cast(unsigned, value);
    if (value != value) return {static_cast<unsigned short>(whole >> 16 | 64)};
    return {static_cast<unsigned short>((whole + 0x7fff + (whole >> 16 & 1)) >> 16)};
  }
  __host__ __device__ operator float() const {
    return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16);
  }
};
struct swizzle_fp16 {
  _Float16 bits;
  __host__ __device__ static swizzle_fp16 from(float value) {
    return {static_cast<_Float16>(value)};
  }
  __host__ __device__ operator float() const { return static_cast<float>(bits); }
};

#define SWIZZLE_FLOAT(name, native)                                                                \
  struct name {                                                                                    \
    native value;                                                                                  \
    name() = default;                                                                              \
    template <typename T, typename = decltype(static_cast<float>(T()))>                            \
    __host__ __device__ name(T from) : value(native::from(static_cast<float>(from))) {}            \
    __host__ __device__ operator float() const { return value; }                                   \
    __host__ __device__ name& operator+=(name b) { return *this = name(float(*this) + float(b)); } \
    __host__ __device__ name& operator-=(name b) { return *this = name(float(*this) - float(b)); } \
    __host__ __device__ name& operator*=(name b) { return *this = name(float(*this) * float(b)); } \
    __host__ __device__ name& operator/=(name b) { return *this = name(float(*this) / float(b)); } \
  };                                                                                               \
  __host__ __device__ inline name operator+(name a, name b) { return float(a) + float(b); }        \
  __host__ __device__ inline name operator-(name a, name b) { return float(a) - float(b); }        \
  __host__ __device__ inline name operator*(name a, name b) { return float(a) * float(b); }        \
  __host__ __device__ inline name operator/(name a, name b) { return float(a) / float(b); }        \
  __host__ __device__ inline name operator-(name a) { return -float(a); }                          \
  __host__ __device__ inline name __hadd(name a, name b) { return a + b; }                         \
  __host__ __device__ inline name __hsub(name a, name b) { return a - b; }                         \
  __host__ __device__ inline name __hmul(name a, name b) { return a * b; }                         \
  __host__ __device__ inline name __hdiv(name a, name b) { return a / b; }                         \
  __host__ __device__ inline name __hfma(name a, name b, name c) {                                 \
    return __builtin_fmaf(float(a), float(b), float(c));                                           \
  }                                                                                                \
  struct name##2 { name x, y; };                                                                   \
  __host__ __device__ inline name##2 __hadd2(name##2 a, name##2 b) {                               \
    return {a.x + b.x, a.y + b.y};                                                                 \
  }                                                                                                \
  __host__ __device__ inline name##2 __hmul2(name##2 a, name##2 b) {                               \
    return {a.x * b.x, a.y * b.y};                                                                 \
  }                                                                                                \
  __host__ __device__ inline name##2 __hfma2(name##2 a, name##2 b, name##2 c) {                    \
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                         \
  }

SWIZZLE_FLOAT(__half, swizzle_fp16)
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
