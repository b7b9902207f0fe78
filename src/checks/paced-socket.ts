/**
 * What a TLS handshake of a check reads its server's octets through. OpenSSL works on what has come within the turn in which it comes, and the
 * server decides what that work is: a chain of 100 KB (as much as OpenSSL takes) costs 0.2 s of signatures or of names, and some dozen
 * servers whose octets come together would cost the sessions of this node. Here they are handed over in turns, some milliseconds in
 * each, and a server that sends more than 32 KB before its handshake is over is given up.
 */

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type PieceReader, ReadTurns } from 'bgp-ts';

/** three certificates with keys and signatures of ML-DSA are 22 KB; others are much shorter */
const MAX_HANDSHAKE = 32 * 1024;
const PIECE_BYTES = 16 * 1024;

/** of all checks together */
const turns = new ReadTurns();

export class PacedSocket extends Duplex implements PieceReader {
  readonly #socket: Socket;
  #unread: Buffer[] = [];
  #taken = 0;
  #hasEnded = false;
  #isSecure = false;

  /** `socket` is connected; it ends with this one */
  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#unread.push(bytes);
      socket.pause();
      turns.offer(this);
    });
    socket.on('end', () => this.#ended());
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.#ended());
  }

  /** From here on the server is one that has been judged, and what it sends is bounded by who reads it. */
  handshakeIsOver(): void {
    this.#isSecure = true;
  }

  readPiece(): boolean {
    const [first, ...rest] = this.#unread;
    if (first === undefined || this.destroyed) return false;
    const piece = first.subarray(0, PIECE_BYTES);
    this.#unread = first.length > PIECE_BYTES ? [first.subarray(PIECE_BYTES), ...rest] : rest;
    this.#taken += piece.length;
    if (!this.#isSecure && this.#taken > MAX_HANDSHAKE) {
      this.destroy(new Error('its TLS handshake is longer than 32 KB'));
      return false;
    }
    this.push(piece);
    if (this.#unread.length > 0) return true;
    if (this.#hasEnded) this.push(null);
    else this.#socket.resume();
    return false;
  }

  /** told behind what waits */
  #ended(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#unread.length === 0) this.push(null);
  }

  override _read(): void {
    // the socket goes on by itself: each piece is read as it is handed over
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.write(bytes, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#unread = [];
    this.#socket.destroy();
    done(error);
  }
}
