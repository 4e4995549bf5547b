// Handlers of custom calls, built by ffi.py with the headers of jaxlib, as users write them.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// The device, and the run, of a call.
static ffi::Error WhereImpl(int32_t device, ffi::RunId run, ffi::ResultBufferR0<ffi::S32> ordinal, ffi::ResultBufferR0<ffi::S64> id) {
  ordinal->typed_data()[0] = device;
  id->typed_data()[0] = run.run_id;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Where, WhereImpl,
                              ffi::Ffi::Bind().Ctx<ffi::DeviceOrdinal>().Ctx<ffi::RunId>().Ret<ffi::BufferR0<ffi::S32>>()
                                  .Ret<ffi::BufferR0<ffi::S64>>());

// A state that counts the calls of one op of one executable.
static std::atomic<int32_t> alive{0};
struct Counter {
  static ffi::TypeId id;
  explicit Counter(int32_t first) : next(first) { alive++; }
  ~Counter() { alive--; }
  std::atomic<int32_t> next;
};
ffi::TypeId Counter::id = {};
static const XLA_FFI_TypeInfo counter_info = ffi::MakeTypeInfo<Counter>();

static ffi::ErrorOr<std::unique_ptr<Counter>> CountInstantiateImpl(int32_t first) {
  if (first < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("first must not be negative"));
  return std::make_unique<Counter>(first);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(CountInstantiate, CountInstantiateImpl, ffi::Ffi::BindInstantiate().Attr<int32_t>("first"));

static std::atomic<int32_t> prepared{0}, initialized{0};
static ffi::Error PrepareImpl() { prepared++; return ffi::Error::Success(); }
static ffi::Error InitializeImpl() { initialized++; return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(CountPrepare, PrepareImpl, ffi::Ffi::Bind<ffi::ExecutionStage::kPrepare>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(CountInitialize, InitializeImpl, ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>());

static ffi::Error CountImpl(Counter *counter, int32_t, ffi::ResultBufferR1<ffi::S32> out) {
  out->typed_data()[0] = counter->next++;
  out->typed_data()[1] = prepared;
  out->typed_data()[2] = initialized;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Count, CountImpl,
                              ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Attr<int32_t>("first").Ret<ffi::BufferR1<ffi::S32>>());

extern "C" void *counter_id() { return &Counter::id; }
extern "C" const void *counter_type_info() { return &counter_info; }
extern "C" int counters_alive() { return alive; }

// Tasks of the thread pool that wait for each other: one alone could not go on.
static ffi::Error PoolImpl(ffi::ThreadPool pool, ffi::AnyBuffer in, ffi::ResultBufferR0<ffi::S64> threads,
                           ffi::ResultBufferR0<ffi::S32> met) {
  int64_t n = pool.num_threads();
  std::mutex m;
  std::condition_variable changed;
  int64_t arrived = 0, left = n;
  for (int64_t i = 0; i < n; i++)
    pool.Schedule([&] {
      std::unique_lock<std::mutex> lock(m);
      if (++arrived == n) changed.notify_all();
      changed.wait(lock, [&] { return arrived == n; });
      if (--left == 0) changed.notify_all();
    });
  std::unique_lock<std::mutex> lock(m);
  changed.wait(lock, [&] { return left == 0; });
  threads->typed_data()[0] = n;
  met->typed_data()[0] = static_cast<int32_t>(arrived + static_cast<int64_t>(in.element_count()));
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Pool, PoolImpl,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<ffi::AnyBuffer>().Ret<ffi::BufferR0<ffi::S64>>()
                                  .Ret<ffi::BufferR0<ffi::S32>>());

// An operand and a result that are one memory; nothing is done.
static ffi::Error AliasImpl(ffi::AnyBuffer in, ffi::Result<ffi::AnyBuffer> out) {
  if (in.untyped_data() != out->untyped_data()) return ffi::Error::InvalidArgument("the operand and the result are apart");
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Alias, AliasImpl, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// Attributes of every kind.
static ffi::Error AttrsImpl(ffi::Dictionary attrs, ffi::ResultBufferR0<ffi::S32> total) {
  auto number = attrs.get<int64_t>("number");
  auto list = attrs.get<ffi::Span<const int32_t>>("list");
  auto text = attrs.get<std::string_view>("text");
  if (number.has_error()) return number.error();
  if (list.has_error()) return list.error();
  if (text.has_error()) return text.error();
  int32_t sum = static_cast<int32_t>(*number) + static_cast<int32_t>(text->size());
  for (int32_t x : *list) sum += x;
  total->typed_data()[0] = sum;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Attrs, AttrsImpl, ffi::Ffi::Bind().Attrs().Ret<ffi::BufferR0<ffi::S32>>());
