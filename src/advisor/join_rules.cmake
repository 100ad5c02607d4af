# cmake -DOUT=FILE -DFILES=a.yaml;b.yaml -P join_rules.cmake: each behind a line with its name (frame/rule_list.cc).
file(WRITE ${OUT} "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  file(APPEND ${OUT} "\n--- # ${name}\n${text}")
endforeach()
