# Everything comes from Debian 12 packages; tests/packages.txt lists them.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json container)
find_package(OpenSSL 3 REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED COMPONENTS core)
find_package(Protobuf REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(Catch2 2 REQUIRED)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(LMDB REQUIRED IMPORTED_TARGET lmdb)
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis)
pkg_check_modules(MOSQUITTO REQUIRED IMPORTED_TARGET libmosquitto)

add_library(sm_asio INTERFACE)
target_link_libraries(sm_asio INTERFACE Boost::boost Threads::Threads)
target_compile_definitions(sm_asio INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_NO_TS_EXECUTORS
                                             BOOST_ASIO_DISABLE_BOOST_ARRAY)
# hiredis asks for it, and every user of the shared precompiled header must agree.
target_compile_options(sm_asio INTERFACE -D_FILE_OFFSET_BITS=64)
