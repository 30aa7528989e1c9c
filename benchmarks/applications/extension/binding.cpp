// SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
// SPDX-License-Identifier: MIT
//
// What Python calls: checks tensors and launches `matmul.cu` on PyTorch's stream.
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

void launch_matmul(const float* a, const float* b, float* c, int size, cudaStream_t stream);

torch::Tensor matmul(const torch::Tensor& a, const torch::Tensor& b) {
  TORCH_CHECK(a.is_cuda() && b.is_cuda() && a.is_contiguous() && b.is_contiguous(), "contiguous tensors of a GPU");
  TORCH_CHECK(a.size(0) == a.size(1) && a.sizes() == b.sizes() && a.size(0) % 32 == 0, "square, in tiles of 32");
  torch::Tensor c = torch::empty_like(a);
  const int size = static_cast<int>(a.size(0));
  launch_matmul(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), size, c10::cuda::getCurrentCUDAStream());
  return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("matmul", &matmul); }
