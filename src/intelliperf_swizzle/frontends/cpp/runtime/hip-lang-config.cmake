# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
#
# What CMake's language HIP links and includes, of the ROCm root that this lies in. CMake sets
# CMAKE_HIP_COMPILER_ROCM_ROOT; it and `find_package(hip)` include this file.
get_filename_component(_hip_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET hip-lang::amdhip64)
  add_library(hip-lang::amdhip64 SHARED IMPORTED GLOBAL)
  set_target_properties(hip-lang::amdhip64 PROPERTIES
    IMPORTED_LOCATION "${_hip_root}/lib/libamdhip64.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_hip_root}/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_hip_root}/include")
  add_library(hip-lang::device INTERFACE IMPORTED GLOBAL)
  set_target_properties(hip-lang::device PROPERTIES
    INTERFACE_LINK_LIBRARIES hip-lang::amdhip64
    INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:HIP>:--rocm-path=${_hip_root}>")
endif()
foreach(_hip_name amdhip64 host device)
  if(NOT TARGET hip::${_hip_name})
    add_library(hip::${_hip_name} INTERFACE IMPORTED GLOBAL)
    set_target_properties(hip::${_hip_name} PROPERTIES INTERFACE_LINK_LIBRARIES hip-lang::amdhip64)
  endif()
endforeach()
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)
set(hip_FOUND TRUE)
set(HIP_HIPCC_EXECUTABLE "${_hip_root}/bin/hipcc")
set(HIP_HIPCONFIG_EXECUTABLE "${_hip_root}/bin/hipconfig")
set(hip_VERSION 7.0.0)
