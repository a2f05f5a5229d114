/* Without stream ciphers nobody uses Salsa20, but sodium_init() picks the fastest of it and so drags in all:
 * 7 KB. Linked into static executables made WITHOUT="stream". */
int _crypto_stream_salsa20_pick_best_implementation(void);
int _crypto_stream_salsa20_pick_best_implementation(void)
{
	return 0;
}
