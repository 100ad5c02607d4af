# sonde_embed_page(TARGET): builds web/ with Vite when its sources changed, and puts the compressed
# files into the target (src/serve/page.S), with the packages that the lock names at that time.
# Without web/node_modules (setup/web.sh) the target has no page, and reports that on request.
function(sonde_embed_page target)
  set(web ${PROJECT_SOURCE_DIR}/web)
  if(NOT EXISTS ${web}/node_modules/vite/bin/vite.js)
    message(STATUS "web/node_modules is missing (make setup): building without the page")
    return()
  endif()
  file(REAL_PATH ${web}/node_modules modules)
  get_filename_component(tools ${modules} DIRECTORY)
  find_program(SONDE_NODE node HINTS ${tools} NO_CACHE REQUIRED)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/*.ts ${web}/src/*.tsx ${web}/src/*.css)
  list(FILTER sources EXCLUDE REGEX "\\.test\\.tsx?$")
  set(out ${CMAKE_CURRENT_BINARY_DIR}/page)
  set(files ${out}/index.html.gz ${out}/app.js.gz ${out}/app.css.gz)
  add_custom_command(
    OUTPUT ${files} ${out}/packages.json
    COMMAND ${PROJECT_SOURCE_DIR}/setup/web.sh
    COMMAND ${SONDE_NODE} node_modules/vite/bin/vite.js build --outDir ${out} --emptyOutDir --logLevel warn
    DEPENDS ${sources} ${web}/index.html ${web}/vite.config.ts ${web}/package.json ${web}/package-lock.json ${web}/tsconfig.json
    WORKING_DIRECTORY ${web}
    COMMENT "Building the page"
    VERBATIM)
  target_sources(${target} PRIVATE page.S)
  set_source_files_properties(page.S PROPERTIES
    OBJECT_DEPENDS "${files}"
    COMPILE_OPTIONS "-x;assembler-with-cpp"
    COMPILE_DEFINITIONS "SONDE_PAGE_INDEX=\"${out}/index.html.gz\";SONDE_PAGE_SCRIPT=\"${out}/app.js.gz\";SONDE_PAGE_STYLE=\"${out}/app.css.gz\"")
  set_source_files_properties(page_files.cc PROPERTIES COMPILE_DEFINITIONS SONDE_HAS_PAGE)
endfunction()
