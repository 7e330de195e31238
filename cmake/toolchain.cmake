# Compiler settings shared by every target: C++20, warnings are errors, sanitizers, ccache, a fast linker.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Behind the -fPIE that CMake gives to executables: one precompiled header serves libraries and tests alike.
add_compile_options(-fPIC)

find_program(SM_CCACHE ccache)
if(SM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${SM_CCACHE}")
endif()

find_program(SM_MOLD mold)
if(SM_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wdelete-non-virtual-dtor -Woverloaded-virtual)
if(SM_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Asio's fences are not modelled by GCC's TSan; PCH needs the macros as written for ccache.
  add_compile_options(-Wno-tsan -fpch-preprocess)
  # GCC 12 reports false positives inside Boost and std::variant at -O2 (PR 105562, 105329).
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-stringop-overread -Wno-dangling-pointer -Wno-mismatched-new-delete)
endif()

set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

if(SM_SANITIZE)
  add_compile_options(-fsanitize=${SM_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SM_SANITIZE})
  if(SM_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

if(SM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "SM_FUZZ needs Clang: use the preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
