// SPDX-License-Identifier: GPL-2.0
/*
 * The prefetcher of the last level: which lines to fetch after a demand request.
 *
 * "next" fetches the lines that follow. "stride" follows the
 * requests of each CPU page by page; when the distance between two of them has
 * been the same twice running, it fetches ahead at that distance. Neither leaves
 * the page. A fetched line is in the cache at once, but its read occupies
 * DRAM like any other.
 */
#include "model.h"

#define PAGE_SHIFT	12
#define TRUSTED		2

static struct stream *find_stream(struct vcpu *v, uint64_t page)
{
	struct stream *oldest = v->stream;

	for (unsigned int i = 0; i < STREAMS; i++) {
		struct stream *s = &v->stream[i];

		if (s->used && s->page == page)
			return s;
		if (s->used < oldest->used)
			oldest = s;
	}
	*oldest = (struct stream){ .page = page, .line = -1 };
	return oldest;
}

/* Distance in lines at which to fetch ahead, 0 for not at all. */
static int learn(struct vcpu *v, uint64_t page, int line)
{
	struct stream *s = find_stream(v, page);
	int stride = s->line < 0 ? 0 : line - s->line;

	s->used = v->count[SIM_LLC_REFS];
	if (s->line >= 0 && !stride)
		return 0;
	s->confidence = stride && stride == s->stride ? s->confidence + 1 : stride != 0;
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
