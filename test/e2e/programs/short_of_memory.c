// Records new names without end while its address space is limited to what it has and argv[1] KiB
// more; it asks for no memory itself. argv[2] is the recorder's library, argv[3] the folder.
#include <dlfcn.h>
#include <sonde/sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static long used_kib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) exit(9);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char** argv) {
  if (argc != 4) return 9;
  void* library = dlopen(argv[2], RTLD_NOW);
  if (library == NULL) return 9;
  __typeof__(&sonde_session_start) start = dlsym(library, "sonde_session_start");
  __typeof__(&sonde_session_stop) stop = dlsym(library, "sonde_session_stop");
  __typeof__(&sonde_intern) intern = dlsym(library, "sonde_intern");
  __typeof__(&sonde_mark_text) mark_text = dlsym(library, "sonde_mark_text");
  const rlim_t limit = (rlim_t)(used_kib() + atol(argv[1])) * 1024;
  const struct rlimit space = {limit, limit};
  if (setrlimit(RLIMIT_AS, &space) != 0) return 9;
  sonde_session_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.features = 0x7f;
  config.directory = argv[3];
  const int started = start(&config);
  char text[64];
  for (int i = 0; i < 400000; ++i) {
    const int length = snprintf(text, sizeof text, "a name of its own %d", i);
    intern(text, (size_t)length);
    mark_text(text, (size_t)length, 0);
  }
  const int stopped = stop(NULL, 0);
  printf("%d %d\n", started, stopped);
  return 0;
}
