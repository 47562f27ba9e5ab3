heapcast_unit_tests(agent-cli heapcast_agent_options)
# A program of the tests' processor that can be recorded.
set(program /bin/sh)
if(CMAKE_CROSSCOMPILING)
	set(program $<TARGET_FILE:agent>)
endif()
target_compile_definitions(unit.agent-cli.preload_path PRIVATE PROGRAM="${program}")
