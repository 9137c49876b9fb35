# cmake -DSOURCE=... -DFILE=... -P commit.cmake: the commit that is built, in a source file that changes only with it. Sources
# that are no checkout have none.
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --exclude * --dirty=+
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT result EQUAL 0 OR NOT top STREQUAL SOURCE)
  set(commit "")
endif()
set(text "#include \"tools/version.hpp\"\n\nconst char* const commit = \"${commit}\";\n")
if(EXISTS ${FILE})
  file(READ ${FILE} there)
endif()
if(NOT there STREQUAL text)
  file(WRITE ${FILE} "${text}")
endif()
