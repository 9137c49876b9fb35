# cmake -DTARE=... -DFOLDER=... -P install.cmake: manual pages and completions, as the command itself gives them, laid
# out as below share/.
function(write_answer file)
  execute_process(COMMAND ${TARE} ${ARGN} OUTPUT_VARIABLE answer COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${FOLDER}/${file} "${answer}")
endfunction()

write_answer(bash-completion/completions/tare completion bash)
write_answer(zsh/site-functions/_tare completion zsh)
write_answer(fish/vendor_completions.d/tare.fish completion fish)
write_answer(man/man1/tare.1 manual)
execute_process(COMMAND ${TARE} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE ".*\nSubcommands:\n" "" listed "${help}")
string(REGEX REPLACE "\n\n.*" "" listed "${listed}")
string(REGEX MATCHALL "(^|\n)  [a-z0-9]+" verbs "${listed}")
foreach(verb ${verbs})
  string(STRIP "${verb}" verb)
  write_answer(man/man1/tare-${verb}.1 manual ${verb})
endforeach()
