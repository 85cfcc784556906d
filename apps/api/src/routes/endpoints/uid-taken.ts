import { Prisma } from '@posthorn/core/prisma'
import { ApiProblem } from '../../http/api-problem.ts'

/** 409 for the unique index on an endpoint's uid, the only one that a caller's field can hit; others are left alone. */
export function refuseTakenUid(error: unknown): never {
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002') {
    const message = 'Another endpoint of the tenant has this uid.'
    throw new ApiProblem('uid_taken', message, { errors: [{ path: '/uid', message }] })
  }
  throw error
}
