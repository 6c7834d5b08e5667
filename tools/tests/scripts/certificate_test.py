# SPDX-License-Identifier: MIT
"""The certificate that kernel/secure-boot names, in roots with configurations of DKMS."""

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases

OWN = "/var/lib/dkms/mok.pub"
SHARED = "/var/lib/shim-signed/mok/MOK.der"
SITE = "/etc/keys/site.der"


class Certificate(CommandTest):
    @cases(
        ("Debian signs with the key of DKMS", OWN, "ID=debian"),
        ("Ubuntu signs with the key of shim-signed", SHARED, "ID=ubuntu\nID_LIKE=debian"),
        ("a derivative of Ubuntu signs with the key of shim-signed", SHARED, 'ID=linuxmint\nID_LIKE="ubuntu debian"'),
        ("a derivative of Debian signs with the key of DKMS", OWN, 'ID=other\nID_LIKE="debian ubuntu"'),
        ("a name that contains ubuntu is no identifier", OWN, 'NAME="not ubuntu"\nID=rhel\nID_LIKE=fedora'),
        ("a system without os-release signs with the key of DKMS", OWN, None),
        ("a setting may have a comment", SITE, "ID=debian", f"mok_certificate={SITE} # of the site"),
        ("a setting may have a variable", SITE, "ID=debian", "site=/etc/keys; mok_certificate=$site/site.der"),
        ("a setting may be in framework.conf.d", SITE, "ID=debian", f'  mok_certificate="{SITE}"', "framework.conf.d/site.conf"),
        ("on Ubuntu a certificate without a key is ignored", SHARED, "ID=ubuntu", f"mok_certificate={SITE}"),
        ("on Ubuntu a certificate with a key is used", SITE, "ID=ubuntu", f"mok_signing_key=/etc/keys/key mok_certificate={SITE}"),
        ("a configuration that is no shell script is ignored", OWN, "ID=debian", "if ("),
    )
    def certificate(self, expected, os_release, setting="", file="framework.conf"):
        if os_release:
            self.write("etc/os-release", os_release + "\n")
        self.write(f"etc/dkms/{file}", setting + "\n")
        (self.work / "etc/dkms/framework.conf.d").mkdir(exist_ok=True)
        script = 'set -eu; root=$1; . "$2"; dkms_certificate'
        ran = self.succeeds("sh", "-c", script, "sh", self.work, REPO / "kernel/secure-boot")
        self.assertEqual(ran.stdout, expected + "\n")
