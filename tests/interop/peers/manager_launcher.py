"""Runs the models of shadowsocks-manager 0.1.25 without its web site: manager_launcher.py PORT, in its Python.

Its data base is in memory. One line of JSON on the standard input is one change of its accounts, as its web site would
make it; the answer is a line of JSON with what it then knows of its node, the manager at 127.0.0.1:PORT.
"""
import contextlib
import importlib.util
import json
import os
import sys

ANSWERS = sys.stdout
PACKAGE = os.path.dirname(importlib.util.find_spec("shadowsocks_manager").origin)


def begin():
    """Django, with tables as the models are: the package has no migrations."""
    sys.path.insert(0, PACKAGE)
    os.environ["DJANGO_SETTINGS_MODULE"] = "shadowsocks_manager.settings"
    import django
    from django.conf import settings
    from django.core.management import call_command

    settings.DATABASES["default"]["NAME"] = ":memory:"
    settings.MIGRATION_MODULES = {name.rpartition(".")[2]: None for name in settings.INSTALLED_APPS}
    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)


def node(port):
    """Our manager is one, with accounts; this makes the rest of what it asks for."""
    from django.contrib.auth.models import Group
    from shadowsocks.models import InterfaceList, Node, SSManager

    Group.objects.get_or_create(name="shadowsocks-clients")
    made = Node.objects.create(name="ours", public_ip="127.0.0.1")
    SSManager.objects.create(node=made, port=port, interface=InterfaceList.LOCALHOST)
    return made


def change(node, request):
    from shadowsocks.models import Account, NodeAccount
    from statistic.models import Statistic

    if request["do"] == "add":
        account = Account.objects.create(username=str(request["port"]), password=request["password"])
        NodeAccount.objects.create(node=node, account=account)
    elif request["do"] == "password":
        account = Account.objects.get(username=str(request["port"]))
        account.password = request["password"]
        account.save()
    elif request["do"] == "remove":
        NodeAccount.objects.get(node=node, account__username=str(request["port"])).delete()
    elif request["do"] == "heartbeat":  # its job of every minute: what is missing is added again
        node.ssmanager.clear_cache()
        NodeAccount.heartbeat()
    elif request["do"] == "statistic":  # the same: what has passed
        node.ssmanager.clear_cache()
        Statistic.statistic()


def known(node):
    from shadowsocks.models import NodeAccount

    manager = node.ssmanager
    return {
        "list": {one["server_port"]: one["password"] for one in manager.list()},
        "accounts": {each.account.username: {"created": each.is_created(), "accessible": each.is_accessible,
                                             "transferred": each.transferred_totally}
                     for each in NodeAccount.objects.filter(node=node)},
    }  # fmt: skip


def main():
    with contextlib.redirect_stdout(sys.stderr):
        begin()
        ours = node(int(sys.argv[1]))
        for line in sys.stdin:
            change(ours, json.loads(line))
            print(json.dumps(known(ours)), file=ANSWERS, flush=True)


main()
