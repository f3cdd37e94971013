/** A law that the policy under test breaks. `cause` holds the selection error or exception behind it, when there is one. */
export class LawViolation extends Error {
  /** Always `LawViolation`. */
  override readonly name = 'LawViolation'
  /** Identifier of the law. */
  readonly law: string

  constructor(law: string, message: string, options?: { cause?: unknown }) {
    super(`${law}: ${message}`, options)
    this.law = law
  }
}
