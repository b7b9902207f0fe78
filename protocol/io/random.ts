/** Randomness as an argument. */

export interface Random {
  /** 0 <= x < 1 */
  next(): number;
}
