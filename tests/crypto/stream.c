/*
 * Stream ciphers: vectors of other implementations at every cut, all lengths, the ends of counters,
 * and the modes against those of the library whose block cipher they use.
 */
#include "crypto/stream.h"

#include "crypto/aead.h"
#include "crypto/kdf.h"
#include "crypto/mbedtls_compat.h"
#include "crypto/rc4.h"
#include "tests/emulator.h"
#include "tests/vectors.h"

#include <sodium.h>

enum { BIG = 70000, METHODS = 28 };

/* A cipher with its key, and one direction. */
struct run {
	const struct stream *stream;
	_Alignas(16) unsigned char schedule[STREAM_SCHEDULE_MAX];
	unsigned char extra[STREAM_EXTRA_MAX];
	struct stream_state state;
};

static unsigned char plain[BIG], one[BIG], two[BIG];

static void run_key(struct run *run, const char *name, const char *password)
{
	unsigned char key[STREAM_KEY_MAX];

	run->stream = stream_find(name);
	assert_non_null(run->stream);
	assert_true(stream_schedule(run->stream) <= sizeof run->schedule);
	assert_true(stream_extra(run->stream) <= sizeof run->extra);
	kdf_password(password, strlen(password), key, run->stream->key);
	stream_expand(run->stream, run->schedule, key);
}

static void run_begin(struct run *run, const unsigned char *iv)
{
	memset(&run->state, 0, sizeof run->state);
	if (stream_extra(run->stream) > 0)
		run->state.extra = run->extra;
	stream_begin(run->stream, run->schedule, &run->state, iv);
}

/* The text in pieces: `first` bytes, then `step` at a time. */
static void run_text(struct run *run, const unsigned char *iv, unsigned char *text, size_t n,
		     size_t first, size_t step, bool opens)
{
	run_begin(run, iv);
	for (size_t at = 0, take = first; at < n; at += take, take = step) {
		unsigned char *exact;

		if (take > n - at)
			take = n - at;
		exact = malloc(take); /* memory that ends where the text does */
		memcpy(exact, text + at, take);
		if (opens)
			stream_decrypt(run->stream, run->schedule, &run->state, exact, take);
		else
			stream_encrypt(run->stream, run->schedule, &run->state, exact, take);
		memcpy(text + at, exact, take);
		free(exact);
	}
}

/* Sealing `text` gives `sealed` and the reverse, wherever they are cut. */
static void check(struct run *run, const unsigned char *iv, const unsigned char *text,
		  const unsigned char *sealed, size_t n)
{
	for (size_t first = 0; first <= n; first += every(7)) {
		for (size_t step = 1; step <= n; step += step < 20 ? 1 : n) {
			memcpy(one, text, n);
			run_text(run, iv, one, n, first, step, false);
			assert_memory_equal(one, sealed, n);
			run_text(run, iv, one, n, first, step, true);
			assert_memory_equal(one, text, n);
		}
	}
}

static bool built(const char *name)
{
	if (stream_built(stream_find(name)))
		return true;
	print_message("not in this build, and not tested: %s\n", name);
	return false;
}

/* The password is foobar, the IV begins with 10 11 12; bytes 0 to 39 become: */
static const struct {
	const char *name, *sealed;
} few[] = {
	{ "rc4",
	  "b87595cfc5d33da91758ce6e8a95b99beb5ad757015e7a1de6c3de5ad5b8e2c5ab054bfc6c7dfa6a" },
	{ "rc4-md5",
	  "7818c20883bfdcc5258582645d71d1fa65e028d8fcf5835647e946924f35c0a701acf5eb62ca8f05" },
	{ "rc4-md5-6",
	  "1108b0d45af40c0bb29ce3b24c01960b03f57bd84e3d0240685b6eb48d1fe193c3a4b32b973d33a0" },
	{ "salsa20",
	  "c1f13e9401f70fe4bbe10b9a904777e4ef3ac10bd480c59fc4bbeae8ea05e52bfab1b8e0a98ad44a" },
	{ "chacha20",
	  "76ec9c80cf4c57078c1f1919a09518481023d21cf15e8a8073cd30a9ce1890b0e7aa9e421b70f16e" },
	{ "chacha20-ietf",
	  "c5fec00a6254f288e161b89254d65b30267fa37dafef9948af48bec81e323ec1c530bea88cc7d41c" },
	{ "xchacha20",
	  "cdfb0c1538dc06d53ff8231adf3e5376d3e4e133f440f8cef23c3f3278960fd210a01e82186ac235" },
	{ "bf-cfb",
	  "46cb3a984ac9197daa0a42f01fb267dff4e328af22763808ae27b10aae3a213dab369d75936d8dce" },
	{ "aes-128-cfb",
	  "2a71f7085c0da89ef8b492f725771fa9259b38621bd018fcd035b0572bad10e7956af6a0928d459c" },
	{ "aes-128-cfb8",
	  "2acfbb7e1c025077dca7ba332bc25cd50d12d9c25c7cd63d3f38f2e75546632671e632e69f23fc37" },
	{ "aes-128-ctr",
	  "2a71f7085c0da89ef8b492f725771fa9a0b6124c6e4ae87db827d85ffd936ffb5bf2b9be7e690060" },
	{ "camellia-128-cfb",
	  "c6a1314f06f3374f73dc172952022e7b8140741ff96dcd91dd090f64b701d61d2525350e0c87e006" },
	{ "aes-192-cfb",
	  "535938ef679a1b1bf207839b0de2573f561734e824918f215587b0562309638f083608f56a1aaf33" },
	{ "aes-192-cfb8",
	  "5395a6bc112f5cfda3c56eff85d9bafd29263b36e5420a1defeff6e91641733897234079ae6f3485" },
	{ "aes-192-ctr",
	  "535938ef679a1b1bf207839b0de2573f7811d75be3a6ff509568896c4bc4c8282488e4e09f323bb2" },
	{ "camellia-192-cfb",
	  "c5e0a1b2137511d0d1fe1572e79404a16829957a500530f2688c18786bd6f457b614e4f753f8b57a" },
	{ "aes-256-cfb",
	  "fb46dec6255a030b22f1cff997a54aedf462bd7839dc5b597c491756f3dc33e52ff0c0efe0aff639" },
	{ "aes-256-cfb8",
	  "fb4222f3e43328fca528b0b6742c92c7d5e3ced3926efe486fdd8359702289e0933e890d36fdf927" },
	{ "aes-256-ctr",
	  "fb46dec6255a030b22f1cff997a54aed158fa6731fe695a2ee72692764b8f60a0d913882c815598d" },
	{ "camellia-256-cfb",
	  "9ca2df2ad4b38e60f4f7f58f1f53735e0444a8c4c849d96c84c1fa6bf1cc3d068c6590c7d1a897e7" },
	{ "aes-128-cfb1",
	  "69ed6ed26a172b37d8505dd4c08b09a88631f0e339a2a2089955504e3eba577ba5516d6defee0224" },
	{ "aes-192-cfb1",
	  "122840f800d3e8a6fd1d8d242c2628d0b71e9a91091f7dc5dc53ed3ac8674395d0ef536e94226d1a" },
	{ "aes-256-cfb1",
	  "852b9050a7765c0ac7c3a7677dc4d3025676ce761fdb17cfa9f2c3850f0a78e6800c10c636a38263" },
	{ "aes-128-ofb",
	  "2a71f7085c0da89ef8b492f725771fa927d63b818f561756453f763f3047d58e0c38a73d45ff294e" },
	{ "aes-192-ofb",
	  "535938ef679a1b1bf207839b0de2573f6adab263b25300eb65d98c1740ad14dbde27b728755e42c2" },
	{ "aes-256-ofb",
	  "fb46dec6255a030b22f1cff997a54aed3fa9a9e73521965843f2149afea9defc94601a2b80d703be" },
	{ "table",
	  "cd101ff42ee561ed1a2555e3eb0124e9f89d1cb0c6311460022138b3299869dd5afa959763423b46" },
	{ "none",
	  "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627" },
};

enum { FEW = sizeof few / sizeof few[0] };

static void a_few(void **state)
{
	enum { N = 40 };
	unsigned char iv[STREAM_IV_MAX], text[N], sealed[N];

	(void)state;
	assert_int_equal(FEW, METHODS);
	for (unsigned i = 0; i < sizeof iv; i++)
		iv[i] = (unsigned char)(0x10 + i);
	for (unsigned i = 0; i < N; i++)
		text[i] = (unsigned char)i;
	for (unsigned i = 0; i < FEW; i++) {
		struct run run;

		if (!built(few[i].name))
			continue;
		run_key(&run, few[i].name, "foobar");
		assert_int_equal(hex(few[i].sealed, sealed, sizeof sealed), N);
		check(&run, iv, text, sealed, N);
	}
}

static void names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < METHODS; i++) {
		const struct stream *stream = stream_list(i);

		assert_ptr_equal(stream_find(stream->name), stream);
		assert_in_range(stream->key, 1, STREAM_KEY_MAX);
		assert_in_range(stream->iv, 0, STREAM_IV_MAX);
	}
	assert_null(stream_list(METHODS));
	assert_ptr_equal(stream_find("RC4-md5"), stream_find("rc4-md5"));
	assert_null(stream_find("rc4-md"));
	assert_null(stream_find(""));
}

/* "iv", "plaintext" and "wire" of a vector. */
static void check_wire(struct run *run, const struct json *vector)
{
	unsigned char iv[STREAM_IV_MAX], text[300], wire[300];
	size_t iv_n = vectors_hex(vector, "iv", iv, sizeof iv);
	size_t n = vectors_hex(vector, "plaintext", text, sizeof text);

	assert_int_equal(iv_n, run->stream->iv);
	assert_int_equal(vectors_hex(vector, "wire", wire, sizeof wire), iv_n + n);
	assert_memory_equal(wire, iv, iv_n);
	check(run, iv, text, wire + iv_n, n);
}

static void vectors_file(void **state)
{
	/* No build has these: they died long before the rest, and mbed TLS never had most of them. */
	static const char *const others[] = { "cast5-cfb", "idea-cfb", "seed-cfb", "des-cfb",
					      "rc2-cfb" };
	struct json_document document;
	int found = 0, checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	for (const struct json *v = vectors_member(document.root, "stream")->first; v;
	     v = v->next, found++) {
		unsigned char iv[STREAM_IV_MAX], zeros[200] = { 0 }, sealed[200];
		bool other = false;
		struct run run;

		for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
			other |= strcmp(v->name, others[i]) == 0;
		assert_int_equal(stream_find(v->name) == NULL, other);
		if (other || !built(v->name))
			continue;
		checked++;
		run_key(&run, v->name, "foobar");
		assert_int_equal(run.stream->key, vectors_integer(v, "key_len"));
		check_wire(&run, vectors_member(v, "tcp_request"));
		check_wire(&run, vectors_member(v, "tcp_response"));
		check_wire(&run, vectors_member(v, "udp"));
		vectors_hex(vectors_member(v, "tcp_request"), "iv", iv, sizeof iv);
		vectors_hex(v, "encrypt_200_zero_bytes", sealed, sizeof sealed);
		check(&run, iv, zeros, sealed, sizeof zeros);
	}
	json_free(&document);
	assert_int_equal(found, 28);
	assert_true(checked >= 22); /* 23, less Blowfish */
}

static void table_file(void **state)
{
	struct json_document document;
	const struct json *vector;
	unsigned char all[256], sealed[256];
	struct run run;
	size_t n;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	vector = vectors_member(document.root, "table");
	run_key(&run, "table", vectors_text(vector, "password"));
	for (unsigned i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	vectors_hex(vector, "encrypt_table", sealed, sizeof sealed);
	check(&run, NULL, all, sealed, sizeof all);
	vectors_hex(vector, "decrypt_table", sealed, sizeof sealed);
	run_text(&run, NULL, all, sizeof all, sizeof all, 1, true);
	assert_memory_equal(all, sealed, sizeof all);
	n = vectors_hex(vector, "plaintext", all, sizeof all);
	assert_int_equal(vectors_hex(vector, "wire", sealed, sizeof sealed), n);
	check(&run, NULL, all, sealed, n);
	json_free(&document);
}

/* All lengths up to 1100 and some large ones: back and forth, and the same in pieces as at once. */
static void lengths(void **state)
{
	unsigned char iv[STREAM_IV_MAX];

	(void)state;
	randombytes_buf(plain, sizeof plain);
	for (unsigned m = 0; m < METHODS; m++) {
		const char *name = stream_list(m)->name;
		struct run run;

		if (!built(name))
			continue;
		run_key(&run, name, "lengths");
		for (size_t n = 0; n <= BIG; n = n < 1100 ? n + every(31) : n * 4 - 7) {
			randombytes_buf(iv, sizeof iv);
			memcpy(one, plain, n);
			memcpy(two, plain, n);
			run_text(&run, iv, one, n, n, 1, false);
			run_text(&run, iv, two, n, n / 3, 1 + n / 7, false);
			assert_memory_equal(one, two, n);
			if (n > 8 && strcmp(name, "none") != 0)
				assert_memory_not_equal(one, plain, n);
			run_text(&run, iv, one, n, n, 1, true);
			assert_memory_equal(one, plain, n);
			run_text(&run, iv, two, n, n / 5, 1 + n / 9, true);
			assert_memory_equal(two, plain, n);
		}
	}
}

/* The counter of CTR is one number of 128 bits. */
static void counters_carry(void **state)
{
	static const char *const cases[][2] = {
		{ "ffffffffffffffffffffffffffffffff",
		  "a9b42f7b1710525734bda9e9dfcbcea975b2f31a25d2b04864e4d617f9841a77"
		  "86357e45a2706ada61084deb471205f8" },
		{ "0000000000000001ffffffffffffffff",
		  "3729c23000dad3b8826887e3876a989ffda559290bb1c97e99b44edff94ecd3c"
		  "88166194cfa8df6571185a48a9b36f1d" },
	};
	unsigned char iv[16], zeros[48] = { 0 }, sealed[48];
	struct run run;

	(void)state;
	run_key(&run, "aes-256-ctr", "foobar");
	for (unsigned i = 0; i < 2; i++) {
		hex(cases[i][0], iv, sizeof iv);
		hex(cases[i][1], sealed, sizeof sealed);
		check(&run, iv, zeros, sealed, sizeof zeros);
	}
}

/* chacha20-ietf after 256 GB: the last block of its counter is right, and the process lives on. */
static void chacha_goes_on(void **state)
{
	unsigned char key[STREAM_KEY_MAX], iv[12] = { 1, 2, 3 }, right[64], text[200] = { 0 };
	struct run run;

	(void)state;
	run_key(&run, "chacha20-ietf", "foobar");
	run_begin(&run, iv);
	kdf_password("foobar", 6, key, sizeof key);
	memset(right, 0, sizeof right);
	crypto_stream_chacha20_ietf_xor_ic(right, right, sizeof right, iv, UINT32_MAX, key);

	run.state.at = (UINT64_C(1) << 38) - 64;
	stream_encrypt(run.stream, run.schedule, &run.state, text, sizeof text);
	assert_memory_equal(text, right, sizeof right);
	memcpy(one, text, sizeof text);
	run.state.at = (UINT64_C(1) << 38) - 64;
	stream_decrypt(run.stream, run.schedule, &run.state, one, 70);
	stream_decrypt(run.stream, run.schedule, &run.state, one + 70, sizeof text - 70);
	memset(text, 0, sizeof text);
	assert_memory_equal(one, text, sizeof text);
}

/* RFC 6229: 40-bit and 128-bit keys, at the beginning and at 4096. */
static void rc4_rfc(void **state)
{
	static const char *const cases[][3] = {
		{ "0102030405", "b2396305f03dc027ccc3524a0a1118a8",
		  "ff25b58995996707e51fbdf08b34d875" },
		{ "0102030405060708090a0b0c0d0e0f10", "9ac7cc9a609d1ef7b2932899cde41b97",
		  "a36a4c301ae8ac13610ccbc12256cacc" },
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		unsigned char key[16], right[16];
		size_t n = hex(cases[i][0], key, sizeof key);
		struct rc4 rc4;

		memset(one, 0, 4112);
		rc4_begin(&rc4, key, n);
		rc4_apply(&rc4, one, 1000);
		rc4_apply(&rc4, one + 1000, 3112);
		hex(cases[i][1], right, sizeof right);
		assert_memory_equal(one, right, 16);
		hex(cases[i][2], right, sizeof right);
		assert_memory_equal(one + 4096, right, 16);
	}
}

/* CFB and CTR of the library itself. */
static void against_the_library(void **state)
{
	unsigned char key[STREAM_KEY_MAX], iv[16], walks[16], rest[16];

	(void)state;
	randombytes_buf(plain, sizeof plain);
	for (size_t n = 0; n < BIG; n = n < 300 ? n + 1 : n * 3 + 5) {
		mbedtls_aes_context aes;
		size_t at = 0;
		struct run run;

		kdf_password("foobar", 6, key, 32);
		mbedtls_aes_init(&aes);
		assert_int_equal(mbedtls_aes_setkey_enc(&aes, key, 256), 0);
		randombytes_buf(iv, sizeof iv);

		run_key(&run, "aes-256-cfb", "foobar");
		memcpy(walks, iv, sizeof iv);
		memcpy(one, plain, n);
		run_text(&run, iv, one, n, n / 2, n, false);
		assert_int_equal(mbedtls_aes_crypt_cfb128(&aes, MBEDTLS_AES_ENCRYPT, n, &at, walks,
							  plain, two),
				 0);
		assert_memory_equal(one, two, n);
		run_text(&run, iv, one, n, n / 2, n, true);
		assert_memory_equal(one, plain, n);

		run_key(&run, "aes-256-ctr", "foobar");
		memcpy(walks, iv, sizeof iv);
		at = 0;
		run_text(&run, iv, one, n, n / 2, n, false);
		assert_int_equal(mbedtls_aes_crypt_ctr(&aes, n, &at, walks, rest, plain, two), 0);
		assert_memory_equal(one, two, n);
		mbedtls_aes_free(&aes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(a_few),
		cmocka_unit_test(vectors_file),
		cmocka_unit_test(table_file),
		cmocka_unit_test(lengths),
		cmocka_unit_test(counters_carry),
		cmocka_unit_test(chacha_goes_on),
		cmocka_unit_test(rc4_rfc),
		cmocka_unit_test(against_the_library),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
