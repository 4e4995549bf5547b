# HILO_PRIVATE_LLVM: what hilo uses of LLVM, from its static archives, as one shared object next to the plugin and the
# library: a third of the system's libLLVM, for packages that go to machines without it.
enable_language(CXX)
find_program(LLVM_CONFIG NAMES llvm-config-19 llvm-config PATHS /usr/lib/llvm-19/bin NO_DEFAULT_PATH REQUIRED)
mark_as_advanced(LLVM_CONFIG)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$") # the processor that it runs on
    set(target AArch64)
else()
    set(target X86)
endif()
string(TOLOWER ${target}codegen codegen)
execute_process(COMMAND ${LLVM_CONFIG} --libdir OUTPUT_VARIABLE llvm_libdir
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${LLVM_CONFIG} --link-static --libs core passes target ${codegen} OUTPUT_VARIABLE llvm_libs
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(llvm_libs)

# Its symbols are those that src/codegen/llvm.c looks for; each is a root, what none of them reaches is left out.
set(llvm_def ${PROJECT_SOURCE_DIR}/src/codegen/llvm.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${llvm_def})
file(STRINGS ${llvm_def} names REGEX "^LLVM\\(")
list(TRANSFORM names REPLACE "^LLVM\\(([A-Za-z0-9]+)\\).*" "LLVM\\1")
foreach(part IN ITEMS TargetInfo Target TargetMC AsmPrinter)
    list(APPEND names LLVMInitialize${target}${part})
endforeach()
list(JOIN names ";\n" symbols)
set(llvm_map ${PROJECT_BINARY_DIR}/hilo-llvm.map)
file(WRITE ${llvm_map} "{ global:\n${symbols};\nlocal: *; };\n")
list(TRANSFORM names PREPEND "-Wl,-u,")

file(WRITE ${PROJECT_BINARY_DIR}/hilo-llvm.cc "") # a library needs a source
add_library(hilo_llvm MODULE ${PROJECT_BINARY_DIR}/hilo-llvm.cc)
set_target_properties(hilo_llvm PROPERTIES OUTPUT_NAME hilo-llvm LINK_DEPENDS ${llvm_map})
target_link_directories(hilo_llvm PRIVATE ${llvm_libdir})
target_link_options(hilo_llvm PRIVATE -s -static-libstdc++ -static-libgcc -Wl,--gc-sections
    -Wl,--version-script=${llvm_map} ${names})
target_link_libraries(hilo_llvm PRIVATE ${llvm_libs} -Wl,-Bstatic z zstd -Wl,-Bdynamic ${CMAKE_DL_LIBS} m Threads::Threads)
install(TARGETS hilo_llvm LIBRARY DESTINATION ${HILO_PLUGIN_DIR} COMPONENT plugin)

foreach(user IN ITEMS pjrt_hilo hilo_shared hilo) # they look for it next to themselves first
    if(TARGET ${user})
        set_target_properties(${user} PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
        add_dependencies(${user} hilo_llvm)
    endif()
endforeach()
