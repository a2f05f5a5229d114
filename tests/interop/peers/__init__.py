"""The programs we meet, one a file. To add one: a file with a Peer, and a row here."""
from .blinksocks import Blinksocks
from .libev import Libev
from .python import Python
from .rust import Rust
from .shadowsocks_js import ShadowsocksJs
from .sing_box import SingBox
from .v2ray import V2ray

PEERS = {peer.name: peer for peer in (Libev(), Rust(), SingBox(), V2ray(), Python(), Blinksocks(), ShadowsocksJs())}
