"""The tables of mutants, by what they are built into."""

import capi_mutants
import cuda_mutants
import cuda_state_mutants
import host_mutants
import numerics_mutants

TABLES = {
    "host": {**host_mutants.MUTANTS, **numerics_mutants.MUTANTS, **capi_mutants.MUTANTS},
    "cuda": {**cuda_mutants.MUTANTS, **cuda_state_mutants.MUTANTS},
}
