# Symbols: shared objects with known lines, in the forms in which distributions and boards ship them.
if(NOT TARGET heapcast_symbols)
	return()
endif()
find_program(OBJCOPY objcopy REQUIRED)
find_program(XZ xz REQUIRED)
find_program(CLANG NAMES clang clang-14)
find_program(CXX NAMES g++ clang++)
set(dir ${CMAKE_CURRENT_SOURCE_DIR}/symbols/targets)
set(out ${CMAKE_BINARY_DIR}/tests/symbols)
set(flags -O2 -fPIC -shared -Wl,--build-id)
set(files ${out}/dwarf4.so ${out}/dwarf5.so ${out}/packed.so ${out}/stripped.so ${out}/linked.so ${out}/mini.so)

add_custom_command(OUTPUT ${out}/dwarf4.so DEPENDS ${dir}/calls.c
	COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
	COMMAND ${CMAKE_C_COMPILER} -gdwarf-4 ${flags} ${dir}/calls.c -o ${out}/dwarf4.so)
add_custom_command(OUTPUT ${out}/dwarf5.so DEPENDS ${dir}/calls.c
	COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
	COMMAND ${CMAKE_C_COMPILER} -gdwarf-5 ${flags} ${dir}/calls.c -o ${out}/dwarf5.so)
add_custom_command(OUTPUT ${out}/packed.so DEPENDS ${out}/dwarf5.so
	COMMAND ${OBJCOPY} --compress-debug-sections=zlib ${out}/dwarf5.so ${out}/packed.so)
# Without anything, its debug file apart and out of reach; found by build id when a folder is given.
add_custom_command(OUTPUT ${out}/stripped.so ${out}/apart/any-name DEPENDS ${out}/dwarf5.so
	COMMAND ${CMAKE_COMMAND} -E make_directory ${out}/apart
	COMMAND ${OBJCOPY} --only-keep-debug ${out}/dwarf5.so ${out}/apart/any-name
	COMMAND ${OBJCOPY} --strip-all ${out}/dwarf5.so ${out}/stripped.so)
# With a link to a debug file beside it.
add_custom_command(OUTPUT ${out}/linked.so ${out}/linked.debug DEPENDS ${out}/dwarf5.so
	COMMAND ${OBJCOPY} --only-keep-debug ${out}/dwarf5.so ${out}/linked.debug
	COMMAND ${OBJCOPY} --strip-all --add-gnu-debuglink=${out}/linked.debug ${out}/dwarf5.so ${out}/linked.so)
# With .gnu_debugdata: a packed symbol table inside, as Fedora and board images have it.
add_custom_command(OUTPUT ${out}/mini.so DEPENDS ${out}/dwarf5.so
	COMMAND ${OBJCOPY} --strip-debug --remove-section=.comment ${out}/dwarf5.so ${out}/mini
	COMMAND ${XZ} -f -k ${out}/mini
	COMMAND ${OBJCOPY} --strip-all --add-section .gnu_debugdata=${out}/mini.xz ${out}/dwarf5.so ${out}/mini.so)
if(CLANG)
	add_custom_command(OUTPUT ${out}/clang.so DEPENDS ${dir}/calls.c
		COMMAND ${CLANG} -g ${flags} ${dir}/calls.c -o ${out}/clang.so)
	list(APPEND files ${out}/clang.so)
endif()
if(CXX)
	add_custom_command(OUTPUT ${out}/templates DEPENDS ${dir}/templates.cc
		COMMAND ${CXX} -g -O2 ${dir}/templates.cc -o ${out}/templates)
	list(APPEND files ${out}/templates)
endif()
add_custom_target(symbols-targets DEPENDS ${files})

heapcast_unit_tests(symbols heapcast_symbols ${CMAKE_DL_LIBS})
foreach(name lookup oracle hostile limits)
	add_dependencies(unit.symbols.${name} symbols-targets)
	target_compile_definitions(unit.symbols.${name} PRIVATE TARGETS="${out}" TARGET_SOURCES="${dir}")
endforeach()
