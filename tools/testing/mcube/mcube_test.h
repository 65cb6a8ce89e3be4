/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A KTAP test runner in one screen, with names after KUnit's.
 *
 *	TEST(parity_is_linear)
 *	{
 *		EXPECT_EQ(value(a ^ b), value(a) ^ value(b));
 *		ASSERT_TRUE(p);			leaves the test
 *		NOTE("covered %d of 32", n);	a diagnostic line
 *	}
 *
 * A TEST() registers itself; runner.c has main().  get_random_u32() and test_rand_below()
 * start from --seed (default 1) and the test's name, so a test does the same alone and
 * among others.  test_scale() is --scale, the factor for long random runs.
 */
#ifndef MCUBE_TEST_H
#define MCUBE_TEST_H

#include "shim.h"

struct test {
	const char *name;
	void (*fn)(void);
	struct test *next;
};

void test_register(struct test *t);
__printf(3, 4) void test_fail(const char *file, int line, const char *fmt, ...);
__printf(1, 2) void test_note(const char *fmt, ...);
void test_skip(const char *why);
unsigned long test_scale(void);
bool test_failed(void);

#define test_rand_below(n)	get_random_u32_below(n)

#define TEST(id)							\
static void id(void);							\
static struct test __test_##id = { .name = #id, .fn = id };		\
static __attribute__((constructor)) void __reg_##id(void)		\
{									\
	test_register(&__test_##id);					\
}									\
static void id(void)

#define NOTE(...)		test_note(__VA_ARGS__)
#define FAIL(...)		test_fail(__FILE__, __LINE__, __VA_ARGS__)

#define EXPECT_TRUE(c) ({						\
	bool __ok = !!(c);						\
	if (!__ok)							\
		FAIL("%s is false", #c);				\
	__ok;								\
})
#define EXPECT_FALSE(c)		EXPECT_TRUE(!(c))
#define TEST_CMP(a, op, b) ({						\
	typeof(a) __l = (a);						\
	typeof(b) __r = (b);						\
	bool __ok = __l op __r;						\
	if (!__ok)							\
		FAIL("%s %s %s: %lld (%#llx) against %lld (%#llx)",	\
		     #a, #op, #b, (long long)__l, (long long)__l,	\
		     (long long)__r, (long long)__r);			\
	__ok;								\
})
/* == of a signed and an unsigned value compares them as long long */
#define EXPECT_EQ(a, b) ({						\
	long long __x = (long long)(a), __y = (long long)(b);		\
	bool __e = __x == __y;						\
	if (!__e)							\
		FAIL("%s == %s: %lld (%#llx) against %lld (%#llx)",	\
		     #a, #b, __x, __x, __y, __y);			\
	__e;								\
})
#define EXPECT_NE(a, b) ({						\
	long long __x = (long long)(a), __y = (long long)(b);		\
	bool __e = __x != __y;						\
	if (!__e)							\
		FAIL("%s != %s: both %lld (%#llx)", #a, #b, __x, __x);	\
	__e;								\
})
#define EXPECT_LE(a, b)		TEST_CMP(a, <=, b)
#define EXPECT_LT(a, b)		TEST_CMP(a, <, b)
#define EXPECT_GE(a, b)		TEST_CMP(a, >=, b)
#define EXPECT_GT(a, b)		TEST_CMP(a, >, b)
#define EXPECT_STREQ(a, b) ({						\
	const char *__s = (a), *__t = (b);				\
	bool __ok = !strcmp(__s, __t);					\
	if (!__ok)							\
		FAIL("%s: \"%s\" against \"%s\"", #a, __s, __t);	\
	__ok;								\
})

#define __ASSERT(e) do { if (!(e)) return; } while (0)
#define ASSERT_TRUE(c)		__ASSERT(EXPECT_TRUE(c))
#define ASSERT_FALSE(c)		__ASSERT(EXPECT_FALSE(c))
#define ASSERT_EQ(a, b)		__ASSERT(EXPECT_EQ(a, b))
#define ASSERT_NE(a, b)		__ASSERT(EXPECT_NE(a, b))
#define ASSERT_LE(a, b)		__ASSERT(EXPECT_LE(a, b))
#define ASSERT_LT(a, b)		__ASSERT(EXPECT_LT(a, b))
#define ASSERT_GE(a, b)		__ASSERT(EXPECT_GE(a, b))

#endif /* MCUBE_TEST_H */
