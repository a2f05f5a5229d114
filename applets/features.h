/*
 * What a build may lack: `make WITHOUT="stream manager"` leaves their files out (dist/without.mk),
 * and whoever asks for them is told so. Where others call what is gone, absent.c of its folder
 * answers, as if there were nothing to be done.
 */
#ifndef APPLETS_FEATURES_H
#define APPLETS_FEATURES_H

enum feature {
	FEATURE_STREAM = 1,  /* stream ciphers, and their format */
	FEATURE_MANAGER = 2, /* ss-manager, ss-ctl, and a server's reports */
	FEATURE_REDIR = 4,   /* ss-redir, ss-nat */
	FEATURE_TUNNEL = 8,  /* ss-tunnel */
	FEATURE_PLUGIN = 16, /* plugins */
	FEATURE_ACL = 32,    /* access control lists, and ss-acl */
	FEATURE_URL = 64,    /* ss-url, and links as options */
	FEATURE_CHECK = 128, /* ss-check */
	FEATURE_PING = 256,  /* ss-ping */
	FEATURE_KEY = 512    /* ss-key */
};

#ifdef SS_WITHOUT

/* Those that are lacking. */
unsigned features_lacking(void);

/* "stream manager"; "": nothing is lacking. */
const char *features_without(void);

/* Why a method is not in this build, to follow these words. */
const char *features_no_cipher(void);

#else /* the whole: none of this takes a byte */

static inline unsigned features_lacking(void)
{
	return 0;
}

static inline const char *features_without(void)
{
	return "";
}

static inline const char *features_no_cipher(void)
{
	return ": its libraries lack the cipher";
}

#endif

#endif
