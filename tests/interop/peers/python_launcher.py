"""Runs shadowsocks 2.8.2 where it was not written for: python_launcher.py local|server OPTION...

Python 3.10 took the abstract classes out of `collections`; OpenSSL renamed the function that clears a cipher's context,
and 3.0 keeps old ciphers in a provider that somebody has to load. Its own search for libraries trips over static ones.
"""
import collections
import collections.abc
import ctypes.util
import sys

collections.MutableMapping = collections.abc.MutableMapping

from shadowsocks.crypto import util  # noqa: E402


def find_library(names, symbol, title):
    name = names if isinstance(names, str) else names[0]
    library = ctypes.CDLL(ctypes.util.find_library(name))
    if name == "crypto" and not hasattr(library, "EVP_CIPHER_CTX_cleanup"):
        library.EVP_CIPHER_CTX_cleanup = library.EVP_CIPHER_CTX_reset
    if name == "crypto" and hasattr(library, "OSSL_PROVIDER_load"):
        for provider in (b"default", b"legacy"):
            library.OSSL_PROVIDER_load(None, provider)
    return library


util.find_library = find_library

if __name__ == "__main__":
    from shadowsocks import local, server

    {"local": local, "server": server}[sys.argv.pop(1)].main()
