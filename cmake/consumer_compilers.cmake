# The compilers that programs using the library are tried with: SMC_CONSUMER_COMPILERS, a list of names, and for
# each SMC_CONSUMER_<name>, its path. The compiler of this build, and the other of g++ and clang++ if it is there.
find_program(SMC_CONSUMER_gxx g++)
find_program(SMC_CONSUMER_clangxx clang++)
mark_as_advanced(SMC_CONSUMER_gxx SMC_CONSUMER_clangxx)
set(SMC_CONSUMER_COMPILERS)
foreach(name IN ITEMS gxx clangxx)
  if(SMC_CONSUMER_${name})
    list(APPEND SMC_CONSUMER_COMPILERS ${name})
  endif()
endforeach()
