#!/usr/bin/perl
# A web server of one sentence for a node of the lab: says which node answered, to whom. Goes to the background when it
# listens, so that `exec` of the topology ends. Only what Debian's perl-base has, which every Debian has.
use strict;
use warnings;
use POSIX ();
use Socket qw(:all);

my $name = shift // die "usage: answer.pl NAME\n";
# one socket for both families
socket(my $server, AF_INET6, SOCK_STREAM, 0) or die "socket: $!\n";
setsockopt($server, SOL_SOCKET, SO_REUSEADDR, 1) or die "SO_REUSEADDR: $!\n";
setsockopt($server, IPPROTO_IPV6, IPV6_V6ONLY, 0) or die "IPV6_V6ONLY: $!\n";
bind($server, pack_sockaddr_in6(80, IN6ADDR_ANY)) or die "bind to port 80: $!\n";
listen($server, 1024) or die "listen: $!\n";

exit 0 if fork // die "fork: $!\n";
POSIX::setsid();
open STDIN, '<', '/dev/null';
open STDOUT, '>', '/dev/null';
open STDERR, '>', '/dev/null';
$SIG{PIPE} = 'IGNORE';
# who connects and says nothing must not keep the others waiting
$SIG{ALRM} = sub { die "too slow\n" };

while (1) {
  my $peer = accept(my $client, $server) or next;
  eval {
    alarm 2;
    my $request = '';
    until ($request =~ /\r?\n\r?\n/ || length $request > 8192) {
      sysread($client, $request, 4096, length $request) or last;
    }
    my (undef, $address) = unpack_sockaddr_in6($peer);
    my $from = inet_ntop(AF_INET6, $address) =~ s/^::ffff://r;
    my $body = "$name answers $from\n";
    syswrite $client, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: "
      . length($body) . "\r\nConnection: close\r\n\r\n$body";
  };
  alarm 0;
  close $client;
}
