/* what c-ares's configure would have found out for its public header */
#include <sys/types.h>
#include <sys/socket.h>
#ifndef __APPLE__ /* there it belongs to another library */
# define CARES_HAVE_ARPA_NAMESER_H 1
# define CARES_HAVE_ARPA_NAMESER_COMPAT_H 1
# include <arpa/nameser.h>
#endif
#define CARES_TYPEOF_ARES_SOCKLEN_T socklen_t
typedef socklen_t ares_socklen_t;
#define CARES_TYPEOF_ARES_SSIZE_T ssize_t
typedef ssize_t ares_ssize_t;
