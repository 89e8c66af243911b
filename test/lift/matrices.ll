; Matrices of a simdgroup in AIR's own functions: c = a b^T, a by rows of K, from device memory, b staged in threadgroup memory; three vectors say extents, strides
; and origin, column first.
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-n8:16:32"
target triple = "air64_v28-apple-macosx26.0.0"

@tile = internal addrspace(3) global [64 x float] undef, align 16

define void @air_product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, ptr addrspace(2) %K, i32 %lane) {
entry:
  %k = load i64, ptr addrspace(2) %K, align 8
  %zero = tail call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 0.0)
  %l = zext i32 %lane to i64
  %dims = insertelement <2 x i64> <i64 0, i64 8>, i64 %k, i32 0
  %strides = insertelement <2 x i64> <i64 1, i64 0>, i64 %k, i32 1
  br label %test
test:
  %at = phi i64 [ 0, %entry ], [ %next, %body ]
  %sum = phi <64 x float> [ %zero, %entry ], [ %more, %body ]
  %go = icmp slt i64 %at, %k
  br i1 %go, label %body, label %done
body:
  tail call void @air.wg.barrier(i32 2, i32 1)
  %row = lshr i64 %l, 2
  %pair = and i64 %l, 3
  %two = shl i64 %pair, 1
  %from.row = mul i64 %row, %k
  %from.at = add i64 %from.row, %at
  %from = add i64 %from.at, %two
  %p = getelementptr inbounds float, ptr addrspace(1) %b, i64 %from
  %x = load float, ptr addrspace(1) %p, align 4
  %q = getelementptr inbounds float, ptr addrspace(1) %p, i64 1
  %y = load float, ptr addrspace(1) %q, align 4
  %to.row = shl i64 %row, 3
  %to = add i64 %to.row, %two
  %s = getelementptr inbounds [64 x float], ptr addrspace(3) @tile, i64 0, i64 %to
  store float %x, ptr addrspace(3) %s, align 4
  %to.next = add i64 %to, 1
  %t = getelementptr inbounds [64 x float], ptr addrspace(3) @tile, i64 0, i64 %to.next
  store float %y, ptr addrspace(3) %t, align 4
  tail call void @air.wg.barrier(i32 2, i32 1)
  %origin = insertelement <2 x i64> <i64 0, i64 0>, i64 %at, i32 0
  %u = tail call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %a, <2 x i64> %dims, <2 x i64> %strides, <2 x i64> %origin)
  %v = tail call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p3f32(ptr addrspace(3) @tile, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 8, i64 1>, <2 x i64> zeroinitializer)
  %more = tail call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float> %u, <64 x float> %v, <64 x float> %sum)
  %next = add i64 %at, 8
  br label %test
done:
  tail call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %sum, ptr addrspace(1) %c, <2 x i64> <i64 8, i64 8>, <2 x i64> <i64 1, i64 8>, <2 x i64> zeroinitializer)
  ret void
}

; The form before AIR 2.8: elements a row, origin, turned round or not.
define void @air_older(ptr addrspace(1) %a, ptr addrspace(1) %c) {
entry:
  %u = tail call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %a, i64 16, <2 x i64> <i64 0, i64 8>, i1 true)
  tail call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %u, ptr addrspace(1) %c, i64 8, <2 x i64> zeroinitializer, i1 false)
  ret void
}

declare void @air.wg.barrier(i32, i32)
declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float)
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float>, <64 x float>, <64 x float>)
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p3f32(ptr addrspace(3), <2 x i64>, <2 x i64>, <2 x i64>)
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>)
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>)

!air.kernel = !{!0, !8}
!0 = !{ptr @air_product, !1, !2}
!1 = !{}
!2 = !{!3, !4, !5, !6, !7}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"a"}
!4 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"b"}
!5 = !{i32 2, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"c"}
!6 = !{i32 3, !"air.buffer", !"air.buffer_size", i32 8, !"air.location_index", i32 3, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_name", !"long", !"air.arg_name", !"K"}
!7 = !{i32 4, !"air.thread_index_in_simdgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"lane"}
!8 = !{ptr @air_older, !1, !9}
!9 = !{!10, !11}
!10 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"a"}
!11 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"c"}
