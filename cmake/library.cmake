# libhilo, shared and static, from one compilation. Both export hilo_* and nothing else.

set(standalone ${PROJECT_SOURCE_DIR}/src/runtime/standalone.c)
list(REMOVE_ITEM library_sources ${standalone})
add_library(hilo_objects OBJECT ${library_sources})
set(libs m Threads::Threads ${CMAKE_DL_LIBS})
if(OpenMP_C_FOUND)
    list(APPEND libs OpenMP::OpenMP_C)
endif()
# What the component llm reads models with: JSON, regular expressions, Unicode.
set(model_libs jansson pcre2-8 utf8proc)
if(NOT HILO_MODELS)
    set(model_libs)
endif()
foreach(lib IN LISTS model_libs)
    find_library(LIB_${lib} ${lib} REQUIRED)
    mark_as_advanced(LIB_${lib})
    list(APPEND libs ${lib})
endforeach()
if(HILO_LLVM)
    # Its headers alone: the library is opened when something is compiled.
    target_include_directories(hilo_objects SYSTEM PRIVATE ${LLVM_C_INCLUDE_DIR})
    target_compile_definitions(hilo_objects PUBLIC HILO_HAVE_LLVM)
    list(APPEND libs ${CMAKE_DL_LIBS})
endif()
target_link_libraries(hilo_objects PUBLIC ${libs})

set(map ${PROJECT_SOURCE_DIR}/cmake/hilo.map)
add_library(hilo_shared SHARED $<TARGET_OBJECTS:hilo_objects>)
target_link_libraries(hilo_shared PRIVATE ${libs})
target_link_options(hilo_shared PRIVATE -Wl,--version-script=${map})
set_target_properties(hilo_shared PROPERTIES LINKER_LANGUAGE C LINK_DEPENDS ${map}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

# What runs .hilo files, without reader and compiler; these components need none of the others.
set(components "/src/(base|target|gpu|ir|eval|library|plan|comm|runtime)/")
add_library(hilo_runtime SHARED $<FILTER:$<TARGET_OBJECTS:hilo_objects>,INCLUDE,${components}> ${standalone})
target_link_libraries(hilo_runtime PRIVATE m Threads::Threads ${CMAKE_DL_LIBS}
    $<TARGET_NAME_IF_EXISTS:OpenMP::OpenMP_C>)
target_link_options(hilo_runtime PRIVATE -Wl,--version-script=${map})
if(NOT HILO_SANITIZE)
    target_link_options(hilo_runtime PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(hilo_runtime PROPERTIES LINKER_LANGUAGE C LINK_DEPENDS ${map} EXPORT_NAME runtime
    OUTPUT_NAME hilo-runtime VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

# An archive cannot hide a symbol that its members share, so the members become one object first.
set(object ${PROJECT_BINARY_DIR}/hilo_static.o)
add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r -o ${object} $<TARGET_OBJECTS:hilo_objects>
    COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=hilo_*" ${object}
    DEPENDS hilo_objects $<TARGET_OBJECTS:hilo_objects>
    COMMENT "Hiding the internal symbols of libhilo.a" COMMAND_EXPAND_LISTS VERBATIM)
add_library(hilo_static STATIC ${object})
set_target_properties(hilo_static PROPERTIES LINKER_LANGUAGE C)

# What a program that links libhilo.a needs besides: names, so that its build need not find targets.
# Every linker finds gcc's OpenMP by name; clang's directory must be given.
set(static_libs m ${CMAKE_DL_LIBS} ${model_libs} ${CMAKE_THREAD_LIBS_INIT})
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND static_libs ${OpenMP_C_LIB_NAMES})
else()
    list(APPEND static_libs ${OpenMP_C_LIBRARIES})
endif()
if(HILO_LLVM)
    list(APPEND static_libs ${CMAKE_DL_LIBS})
endif()
list(REMOVE_DUPLICATES static_libs)
target_link_libraries(hilo_static INTERFACE ${static_libs})

foreach(kind IN ITEMS shared static)
    set_target_properties(hilo_${kind} PROPERTIES OUTPUT_NAME hilo)
endforeach()
foreach(kind IN ITEMS shared static runtime)
    target_include_directories(hilo_${kind} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
set_target_properties(hilo_shared PROPERTIES EXPORT_NAME hilo)
set_target_properties(hilo_static PROPERTIES EXPORT_NAME static)
add_library(hilo::hilo ALIAS hilo_shared)
add_library(hilo::static ALIAS hilo_static)
add_library(hilo::runtime ALIAS hilo_runtime)
