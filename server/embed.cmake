# embed.cmake - files as a C source: the table page_files of page.h.
#
#     include(embed.cmake)
#     inmo_embed(page.c page/index.html page/style.css ...)    makes page.c in the build directory when a file changes
#
# Called with cmake -P it does the work: -D OUTPUT=page.c -D FILES="a|b". A file is known by its name without folders. Its
# tag is the start of its SHA-256, so that a browser asks again only for what has changed.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(INMO_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(inmo_embed output)
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(JOIN ARGN "|" files)
    add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
      COMMAND ${CMAKE_COMMAND} -D OUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${output} -D "FILES=${files}" -P ${INMO_EMBED_SCRIPT}
      DEPENDS ${ARGN} ${INMO_EMBED_SCRIPT} VERBATIM COMMENT "Embedding the page in ${output}")
  endfunction()
  return()
endif()

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
set(type_json "application/json")

string(REPLACE "|" ";" FILES "${FILES}")
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  get_filename_component(ending ${file} LAST_EXT)
  string(SUBSTRING ${ending} 1 -1 ending)
  if(NOT DEFINED type_${ending})
    message(FATAL_ERROR "${file}: no content type is known for .${ending}; add it to embed.cmake")
  endif()
  file(READ ${file} bytes HEX)
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 16 tag)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  if(size EQUAL 0)
    message(FATAL_ERROR "${file}: is empty")
  endif()
  string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "static const unsigned char file_${number}[] = {\n    ${bytes}};\n")
  string(APPEND rows "    {\"${name}\", \"${type_${ending}}\", file_${number}, ${size}, \"\\\"${tag}\\\"\"},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUTPUT} "/* Made by embed.cmake. */\n#include \"server/page.h\"\n\n${arrays}\nconst struct page_file page_files[] = {\n${rows}};\nconst size_t page_file_count = ${number};\n")
