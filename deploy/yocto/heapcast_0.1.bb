# Untested: agent and library of heapcast for an image of Yocto.
SUMMARY = "Heap profiler for boards and fleets of them"
LICENSE = "Apache-2.0 | MIT"
# Fill in where your sources are, a commit, and the sum of LICENSE (md5sum LICENSE).
SRC_URI = "git:///path/to/heapcast;protocol=file;branch=main"
SRCREV = "${AUTOREV}"
LIC_FILES_CHKSUM = "file://LICENSE;md5=0"
S = "${WORKDIR}/git"

DEPENDS = "libuv lz4 protobuf-c protobuf-c-native"
inherit cmake pkgconfig

PACKAGECONFIG ??= "tls"
PACKAGECONFIG[tls] = "-DHEAPCAST_TLS=ON,-DHEAPCAST_TLS=OFF,openssl,openssl"
EXTRA_OECMAKE = "-DCMAKE_BUILD_TYPE=Release -DHEAPCAST_TESTS=OFF -DHEAPCAST_COLLECTOR=OFF -DHEAPCAST_EBPF=OFF"

# The library has no version: programs preload it by its name.
SOLIBS = ".so"
FILES_SOLIBSDEV = ""
FILES:${PN} += "${libdir}/libheapcast.so ${nonarch_libdir}/systemd ${datadir}/zsh ${datadir}/bash-completion"
