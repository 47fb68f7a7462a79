/* Counts the blocks of code compiled with -fsanitize-coverage=trace-pc that were reached: preloaded, and asked by engine.py. */
#include <stdint.h>
#define ROOM (1u << 16)
static uint8_t seen[ROOM];
static int edges;
void __sanitizer_cov_trace_pc(void) {
  uintptr_t here = (uintptr_t)__builtin_return_address(0);
  uint32_t block = ((uint32_t)here * 2654435761u) >> 16;
  if (!seen[block % ROOM]) { seen[block % ROOM] = 1; edges++; }
}
int tfadvisor_edges(void) { return edges; }
