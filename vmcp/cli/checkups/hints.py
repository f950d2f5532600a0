"""What to do about each cause that a checkup can find."""

from __future__ import annotations

from collections.abc import Mapping

HINTS: Mapping[str, str] = {
    "HostUnknown": "Check the host in the url, and the name servers of this machine.",
    "ProxyUnusable": "Write a URL such as http://proxy.example:3128 into that variable, or unset it.",
    "ProxyFailed": "Check the proxy, the credentials in its URL, and NO_PROXY for hosts that need none.",
    "Unreachable": "Start the server, or check the host and the port of the url; then routes and firewalls.",
    "TimedOut": "It is silent: look into its log; give it more time with --timeout if it is only slow.",
    "NoTls": "Does it speak plain HTTP? Then the url begins with http://.",
    "TlsFailed": "Look at both sides of TLS: versions, client certificates, and what stands between them.",
    "CertificateUntrusted": "Name the certificate of its CA in caBundlePath of the backend.",
    "CertificateExpired": "The server needs a new certificate; check the clock of this machine too.",
    "CertificateNotYetValid": "Check the clocks: that of this machine, and that of who signed it.",
    "CertificateOtherName": "Use a host in the url that the certificate names, or one that names this host.",
    "CertificateEndsSoon": "Have the certificate renewed before it expires.",
    "ConnectionLost": "It broke off: look into its log. A url with http:// where it wants https:// does this too.",
    "Unauthorized": "Give its credential in outgoingAuth, or check the one that is there.",
    "Overloaded": "It is busy or starting: try again later.",
    "NothingThere": "Check the path of the url; it is often /mcp, and /sse with transport: sse.",
    "Redirected": "Write the url that it redirects to into the config.",
    "ServerFailed": "Look into the log of the server.",
    "Rejected": "Check the path of the url, and what the server wants of its clients.",
    "SelfReference": "The url leads back to this gateway: name the server itself.",
    "NotMcp": "Check that an MCP server answers at this url or command; a web page or an API is none.",
    "InvalidAnswer": "What it answers is no MCP: look for a newer version of the server.",
    "VersionUnsupported": "It speaks another revision of MCP: look for a newer version of the server.",
    "TooLarge": "It answers more than the gateway takes: ask for less, or split the server.",
    "ListRefused": "It declares a list that it then refuses: this is for its makers to mend.",
    "SessionLost": "It forgets its sessions: with several replicas it needs sticky ones.",
    "LeftOut": "Clients could not read these items: it is for the makers of the server to mend.",
    "CommandNotFound": "Install it, write its whole path, or set PATH for vmcp; the child gets the same PATH.",
    "ProcessEnded": "Run the command by hand; what it wrote to stderr stands below.",
    "NotStarted": "Check that the file may be executed, and cwd.",
    "FewOpenFiles": "Each client and each backend takes one or more: raise it, as with 'ulimit -n 65536'.",
    "OthersMayRead": "Take it from others: chmod go-rwx FILE.",
    "OthersMayWrite": "Whoever writes to it decides which commands run: chmod go-w FILE.",
    "CannotListen": "Stop the program that has the port, or choose another one in 'server' of the config.",
    "ConfigReloadFailed": "The gateway goes on with the config before: 'vmcp validate' shows what is wrong.",
    "NotReady": "It is starting or stopping: 'vmcp status' shows what it waits for.",
}
