# The targets `lint` (check all) and `format` (rewrite what the formatters would). The formatters themselves are fetched
# when a target first runs, so that a configure without a network works.

include_guard(GLOBAL)

foreach(wr_action lint format)
    add_custom_target(
        ${wr_action}
        COMMAND
            "${CMAKE_COMMAND}" -D "ACTION=${wr_action}" -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}" -D
            "BUILD_DIR=${PROJECT_BINARY_DIR}" -P "${CMAKE_CURRENT_LIST_DIR}/RunLinters.cmake"
        COMMENT "Running the formatters and linters (${wr_action})"
        USES_TERMINAL
        VERBATIM
    )
endforeach()
