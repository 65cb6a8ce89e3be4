// SPDX-License-Identifier: GPL-2.0
/*
 * The prefetcher of the last level: which lines to fetch after a demand request.
 *
 * "next" fetches the lines that follow. "stride" follows the requests of each CPU
 * page by page; when the distance between two of them has been the same twice
 * running, it fetches ahead at that distance. It remembers one page for each value
 * of the low bits of the page number. Neither leaves the page. A fetched line is in
 * the cache at once, but its read occupies DRAM like any other.
 */
#include "model.h"

#define PAGE_SHIFT	12
#define TRUSTED		2

/* Distance in lines at which to fetch ahead, 0 for not at all. */
static int learn(struct vcpu *v, uint64_t page, int line)
{
	struct stream *s = &v->stream[page % STREAMS];
	int stride = line - s->line;

	if (s->page != page + 1) {
		*s = (struct stream){ .page = page + 1, .line = line };
		return 0;
	}
	if (!stride)
		return 0;
	s->confidence = stride == s->stride ? s->confidence + 1 : 1;
	s->stride = stride;
	s->line = line;
	return s->confidence >= TRUSTED ? stride : 0;
}

/* Fill out[] with the addresses to fetch, at most prefetch_degree. */
unsigned int prefetch_lines(struct model *m, struct vcpu *v, uint64_t paddr,
			    uint64_t *out)
{
	int lines = (1 << PAGE_SHIFT) >> m->map.line_shift;
	int line = paddr >> m->map.line_shift & (lines - 1);
	uint64_t page = paddr >> PAGE_SHIFT;
	unsigned int n = 0;
	int stride = 0;

	if (m->machine.prefetch == PREFETCH_NEXT)
		stride = 1;
	else if (m->machine.prefetch == PREFETCH_STRIDE)
		stride = learn(v, page, line);
	while (stride && n < m->machine.prefetch_degree) {
		line += stride;
		if (line < 0 || line >= lines)
			break;
		out[n++] = page << PAGE_SHIFT | (uint64_t)line << m->map.line_shift;
	}
	return n;
}
