/** The table of a scripted neighbour: IPv4 host routes and their MED, read from UPDATEs by hand. */

const MED = 4;

export class HostRouteTable {
  readonly routes = new Map<number, number>();
  updates = 0;
  endOfRibs = 0;
  bytes = 0;

  /** the body of an UPDATE */
  read(body: Uint8Array): void {
    const view = new DataView(body.buffer, body.byteOffset, body.length);
    this.updates += 1;
    this.bytes += body.length + 19;
    if (body.length === 4) this.endOfRibs += 1;
    const withdrawnEnd = 2 + view.getUint16(0);
    for (const bits of hosts(view, 2, withdrawnEnd)) this.routes.delete(bits);
    const attributesEnd = withdrawnEnd + 2 + view.getUint16(withdrawnEnd);
    const med = readMed(view, withdrawnEnd + 2, attributesEnd);
    for (const bits of hosts(view, attributesEnd, body.length)) this.routes.set(bits, med);
  }
}

function* hosts(view: DataView, start: number, end: number): Iterable<number> {
  for (let at = start; at < end; at += 5) {
    if (view.getUint8(at) !== 32) throw new Error(`a prefix of ${view.getUint8(at)} bits`);
    yield view.getUint32(at + 1);
  }
}

function readMed(view: DataView, start: number, end: number): number {
  for (let at = start; at < end; ) {
    const isLong = (view.getUint8(at) & 0x10) !== 0;
    const value = at + (isLong ? 4 : 3);
    if (view.getUint8(at + 1) === MED) return view.getUint32(value);
    at = value + (isLong ? view.getUint16(at + 2) : view.getUint8(at + 2));
  }
  return -1;
}
