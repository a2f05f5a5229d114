#!/usr/bin/env python3
"""A plugin (SIP003) of the tests' own: each byte it carries is changed (XOR), so that one without the other is
of no use. It is told what to do in its options, separated by ';':

    server       its side; without: client
    record=FILE  append a line of JSON when it starts: pid, argv, environment, uid
    udp          carry datagrams, too
    only         ... and nothing else
    delay=S      listen only after S seconds
    fail=N       end with status N instead of listening
    die=S        end S seconds after it listens
    deaf         ignore SIGTERM
    chatty=N     first write N bytes to each of its two streams
    drip         pass the first 100 bytes on one by one
"""
import json
import os
import signal
import socket
import sys
import threading
import time


def changed(data):
    return bytes(byte ^ 0x5A for byte in data)


def pump(source, sink, drip):
    left = 100 if drip else 0
    try:
        while data := source.recv(1 << 16):
            data = changed(data)
            for byte in data[:left]:
                sink.sendall(bytes([byte]))
                time.sleep(0.001)
            sink.sendall(data[left:])
            left -= min(left, len(data))
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for sock in (source, sink):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(near, outer, drip):
    try:
        far = socket.create_connection(outer)
    except OSError as error:
        print(f"cannot connect to {outer}: {error}", flush=True)
        near.close()
        return
    for sock in (near, far):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=pump, args=(far, near, False))
    back.start()
    pump(near, far, drip)
    back.join()
    near.close()
    far.close()


def family(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def carry_datagrams(inner, outer):
    near = socket.socket(family(inner[0]), socket.SOCK_DGRAM)
    near.bind(inner)
    fars = {}

    def back(far, client):
        while True:
            near.sendto(changed(far.recv(1 << 16)), client)

    while True:
        data, client = near.recvfrom(1 << 16)
        if client not in fars:
            fars[client] = socket.socket(family(outer[0]), socket.SOCK_DGRAM)
            fars[client].connect(outer)
            threading.Thread(target=back, args=(fars[client], client), daemon=True).start()
        fars[client].send(changed(data))


def main():
    options = dict(o.partition("=")[::2] for o in os.environ.get("SS_PLUGIN_OPTIONS", "").split(";"))
    remote = os.environ["SS_REMOTE_HOST"].split("|")[0], int(os.environ["SS_REMOTE_PORT"])
    local = os.environ["SS_LOCAL_HOST"], int(os.environ["SS_LOCAL_PORT"])
    inner, outer = (remote, local) if "server" in options else (local, remote)
    if "deaf" in options:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "record" in options:
        record = {"pid": os.getpid(), "argv": sys.argv, "env": dict(os.environ), "uid": os.getuid()}
        with open(options["record"], "ab", buffering=0) as file:  # a line at once: others are reading
            file.write(json.dumps(record).encode() + b"\n")
    if "chatty" in options:
        for stream in (1, 2):
            for _ in range(int(options["chatty"]) >> 16):
                os.write(stream, (b"x" * 63 + b"\n") * 1024)
    if "fail" in options:
        print("this plugin fails", flush=True)
        sys.exit(int(options["fail"]))
    time.sleep(float(options.get("delay", 0)))
    if "udp" in options:
        threading.Thread(target=carry_datagrams, args=(inner, outer), daemon=True).start()
    if "only" in options:
        threading.Event().wait()
    listener = socket.socket(family(inner[0]))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(inner)
    listener.listen(1000)
    print("listening", flush=True)
    if "die" in options:
        threading.Timer(float(options["die"]), os._exit, (4,)).start()
    while True:
        near, _ = listener.accept()
        threading.Thread(target=serve, args=(near, outer, "drip" in options), daemon=True).start()


main()
