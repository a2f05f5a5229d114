# A stand-in for OpenWrt's build system, as far as the package uses it: `make compile` and
# `make install DESTINATION=` with this machine's compiler and libraries.
INCLUDE_DIR := $(TOPDIR)/include
TARGET_CC := gcc
TARGET_CFLAGS := -O1
INSTALL_DIR := install -d -m0755
INSTALL_BIN := install -m0755
INSTALL_CONF := install -m0600
LN := ln -sf
PKG_CONFIG := pkg-config
