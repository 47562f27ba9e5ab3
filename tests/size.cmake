# What a file of ours takes on a board, stripped; more than LIMIT is a fault: cmake -DSTRIP=strip -DFILE=... -DLIMIT=BYTES -P size.cmake
get_filename_component(name ${FILE} NAME)
set(stripped ${FILE}.stripped)
# .pdr: for debuggers, on MIPS, of the libraries that are linked in; strip leaves it.
execute_process(COMMAND ${STRIP} -R .pdr -o ${stripped} ${FILE} COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${stripped} size)
file(REMOVE ${stripped})
message("${name}: ${size} bytes stripped, of ${LIMIT}")
if(size GREATER LIMIT)
	message(FATAL_ERROR "${name} is too large")
endif()
