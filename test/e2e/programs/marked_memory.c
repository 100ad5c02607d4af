// An allocator that knows its own memory, to be preloaded: ends the program (99) where something else is
// given back to it.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void __libc_free(void *memory);

// Before each piece: where it begins, how long it is, and whose it is.
struct mark { void *begin; size_t size; uint64_t own; };
enum { OWN = 0x50de };

static void *pieces(size_t align, size_t size) {
  if (align < 16) align = 16;
  char *begin = __libc_malloc(size + align + sizeof(struct mark));
  if (begin == NULL) return NULL;
  uintptr_t place = ((uintptr_t)begin + sizeof(struct mark) + align - 1) / align * align;
  struct mark *mark = (struct mark *)place - 1;
  *mark = (struct mark){begin, size, OWN};
  return (void *)place;
}
static struct mark *mark_of(void *memory) {
  struct mark *mark = (struct mark *)memory - 1;
  if (mark->own != OWN) {
    static const char kMessage[] = "freed by who did not allocate it\n";
    if (write(2, kMessage, sizeof kMessage - 1) < 0) _exit(98);
    _exit(99);
  }
  return mark;
}
void *malloc(size_t size) { return pieces(16, size); }
void *memalign(size_t align, size_t size) { return pieces(align, size); }
void *aligned_alloc(size_t align, size_t size) { return pieces(align, size); }
int posix_memalign(void **memory, size_t align, size_t size) {
  *memory = pieces(align, size);
  return *memory == NULL ? ENOMEM : 0;
}
void free(void *memory) {
  if (memory == NULL) return;
  struct mark *mark = mark_of(memory);
  mark->own = 0;
  __libc_free(mark->begin);
}
void *calloc(size_t count, size_t size) {
  void *memory = pieces(16, count * size);
  return memory == NULL ? NULL : memset(memory, 0, count * size);
}
void *realloc(void *memory, size_t size) {
  void *larger = malloc(size);
  if (memory == NULL || larger == NULL) return larger;
  size_t kept = mark_of(memory)->size;
  memcpy(larger, memory, kept < size ? kept : size);
  free(memory);
  return larger;
}
size_t malloc_usable_size(void *memory) { return memory == NULL ? 0 : mark_of(memory)->size; }
