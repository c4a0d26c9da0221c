# Finds the header of libibverbs. The library itself is loaded at run time, so nothing is linked.
#
#   find_package(Verbs)
#
# Target:    Verbs::headers
# Variables: Verbs_FOUND, Verbs_INCLUDE_DIR (cached)

find_path(Verbs_INCLUDE_DIR NAMES infiniband/verbs.h DOC "The folder that contains infiniband/verbs.h")
mark_as_advanced(Verbs_INCLUDE_DIR)

# Queries of the whole GID table came with rdma-core 32.
unset(_verbs_gid_table)
if(Verbs_INCLUDE_DIR)
  file(STRINGS "${Verbs_INCLUDE_DIR}/infiniband/verbs.h" _verbs_gid_table REGEX "_ibv_query_gid_table" LIMIT_COUNT 1)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Verbs
  REQUIRED_VARS Verbs_INCLUDE_DIR _verbs_gid_table
  REASON_FAILURE_MESSAGE "Built without RDMA. On Debian: apt-get install libibverbs-dev")

if(Verbs_FOUND AND NOT TARGET Verbs::headers)
  add_library(Verbs::headers INTERFACE IMPORTED)
  set_target_properties(Verbs::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Verbs_INCLUDE_DIR}")
endif()
