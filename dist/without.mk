# What `make WITHOUT="stream manager"` may leave out, and the files and names that go with it. Where
# others call them, absent.c of the folder answers in their place. Included by the Makefile; the words
# are in applets/features.c, too.

features := stream manager redir tunnel plugin acl url check ping key

files.stream := net/wire_stream.c \
	$(addprefix crypto/,aes_streams_%.c camellia.c modes.c rc4.c stream.c stream_mbedtls.c stream_chacha.c substitution.c)
files.manager := $(addprefix applets/,ctl.c inbox.c manager.c manager_requests.c outbox.c ports.c report.c request.c servers.c servers_told.c tally.c)
files.redir := applets/nat.c applets/nat_%.c applets/redir.c net/guise.c net/origdst_%.c
files.tunnel := applets/settings_tunnels.c applets/tunnel.c
files.plugin := applets/plugins.c net/plugin.c
files.acl := applets/acl.c applets/rules.c net/acl.c net/acl_%.c net/splice_%.c
files.url := applets/settings_url.c applets/url.c net/url.c
files.check := applets/check.c
files.ping := applets/ping.c applets/probe.c
files.key := applets/key.c

names.manager := ss-manager ss-ctl
names.redir := ss-redir ss-nat
names.tunnel := ss-tunnel
names.acl := ss-acl
names.url := ss-url
names.check := ss-check
names.ping := ss-ping
names.key := ss-key

without := $(filter $(WITHOUT),$(features))
ifneq ($(filter-out $(features),$(WITHOUT)),)
$(error WITHOUT: there is no part $(firstword $(filter-out $(features),$(WITHOUT))) to leave out; there are: $(features))
endif
ifneq ($(and $(without),$(filter unit programs fuzz% e2e interop% bugs netns noheap man-check dist-check reach bench% check,$(MAKECMDGOALS))),)
$(error WITHOUT: this goal is for the whole; what is left of a part is tested by make without-check)
endif
