/** What the world in which Services are decided on says to the loops. */

export interface WorldListener {
  /** this Service has to be looked at, at once or in a while */
  readonly due: (key: string, delayMs?: number) => void;
  /** how full pools are may have changed */
  readonly poolsTouched: () => void;
  /** a claim was released, or one that was released has changed */
  readonly releaseTouched: (name: string) => void;
}
