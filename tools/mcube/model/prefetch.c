// SPDX-License-Identifier: GPL-2.0
/*
 * The prefetcher of the last level: which lines to fetch after a demand request.
 *
 * "next" fetches the lines that follow. "stride" tracks the requests of each CPU
 * by page. When the distance between requests (the stride) has been the same
 * TRUSTED times in a row, it fetches ahead at that distance. Pages with equal low
 * bits of the page number share an entry of the table, which tracks the page of the
 * last request. Neither prefetcher crosses the end of the page. The read of a prefetched
 * line occupies DRAM like any other. The line is in the cache at once, or with
 * prefetch.under_way when DRAM delivers it (arriving.c).
 */
#include "prefetch.h"

#define PAGE_SHIFT	12
#define TRUSTED		2

/* The distance in lines at which to fetch ahead, 0 for no prefetch. */
static int train(struct vcpu *v, uint64_t page, int line)
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

/**
 * prefetch_lines - the lines to fetch after a demand request
 * @m:		the model
 * @v:		the CPU of the request
 * @paddr:	physical address of the request
 * @out:	addresses to fetch, at most MAX_DEGREE
 *
 * Return: the number of addresses in @out.
 */
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
		stride = train(v, page, line);
	while (stride && n < m->machine.prefetch_degree) {
		line += stride;
		if (line < 0 || line >= lines)
			break;
		out[n++] = page << PAGE_SHIFT | (uint64_t)line << m->map.line_shift;
	}
	return n;
}
