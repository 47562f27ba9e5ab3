# Writes the style as an array of bytes: cmake -DSTYLE=... -DOUT=... -P style.cmake
file(READ ${STYLE} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "#pragma once\nstatic const unsigned char page_style[] = {${bytes}};\n")
