# Sizes on a board (size.cmake), of every build but those with sanitizers, which are not meant for one.
if(HEAPCAST_SANITIZE OR HEAPCAST_FUZZ)
	return()
endif()

function(size_test name target limit)
	add_test(NAME size.${name} COMMAND ${CMAKE_COMMAND} -DSTRIP=${CMAKE_STRIP} -DFILE=$<TARGET_FILE:${target}> -DLIMIT=${limit}
		-P ${CMAKE_SOURCE_DIR}/tests/size.cmake)
	set_tests_properties(size.${name} PROPERTIES LABELS unit)
endfunction()

set(limit 131072)
if(CMAKE_SYSTEM_PROCESSOR MATCHES mips64) # each function finds its data by several instructions there
	set(limit 133120)
endif()
size_test(library heapcast_preload ${limit})
if(TARGET agent)
	set(limit 1572864)
	if(HEAPCAST_STATIC)
		set(limit 2726297)
	endif()
	size_test(agent agent ${limit})
endif()
